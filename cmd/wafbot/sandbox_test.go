package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox"
)

func TestSandboxPrintsAnEnvironment(t *testing.T) {
	t.Parallel()
	program := start(t, nil, "sandbox", "--listen", ":0", "--deliver", "http://127.0.0.1:18080/")
	var environ, names []string
	for line := program.line(t); line != ""; line = program.line(t) {
		name, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		require.NotEmpty(t, value, line)
		environ, names = append(environ, line), append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"WAFBOT_ADMINS", "WAFBOT_API_TOKEN", "WAFBOT_API_URL", "WAFBOT_CHANGES", "WAFBOT_CHANNEL", "WAFBOT_LISTEN", "WAFBOT_NEVER_DENY", "WAFBOT_REDIS_URL",
		"WAFBOT_RESPONDERS", "WAFBOT_SLACK_API_URL", "WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_BOT_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET", "WAFBOT_VIEWERS",
	}, names)

	cfg, err := config.Load("", environ)
	require.NoError(t, err)
	require.NoError(t, cfg.CheckServe())
	require.Equal(t, "127.0.0.1:18080", cfg.Listen, "where the world delivers to")
	require.Equal(t, "on", cfg.Policy.Changes)

	got := typed(t, environ, "status")
	require.Equal(t, exitDone, got.code, "the emulated service answers: %+v", got)
	require.Contains(t, got.out, "Status of default")

	left := program.stop()
	require.Equal(t, exitDone, left.code, left.err)
}

// openWorld is a quiet emulated world for as long as the test lasts.
func openWorld(t testing.TB) *sandbox.World {
	t.Helper()
	return openWorldWith(t, sandbox.Config{})
}

func openWorldWith(t testing.TB, cfg sandbox.Config) *sandbox.World {
	t.Helper()
	cfg.Quiet, cfg.Speed, cfg.Patience = true, 600, patience
	world, err := sandbox.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- world.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return world
}

// Who has the emulated world listen where other machines reach it is warned.
func TestAWorldThatOthersReach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, listen string
		warned          bool
	}{
		{"sandbox", "0.0.0.0:0", true}, {"sandbox", "[::]:0", true}, {"sandbox", "127.0.0.1:0", false}, {"sandbox", ":0", false}, {"demo", "0.0.0.0:0", true},
	} {
		running := start(t, nil, tt.program, "--listen", tt.listen)
		running.line(t)
		left := running.stop()
		require.Equal(t, tt.warned, strings.Contains(left.err, "level=WARN msg=\"other machines reach the emulated world"), "%+v: %s", tt, left.err)
	}
}
