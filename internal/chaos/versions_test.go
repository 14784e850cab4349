package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var versions = flag.Duration("chaos.versions", 0, "how long TestTwoVersions lets each version work; 0: it is skipped")

// later is an overlay for go build: the version of the state is one that no wafbot has yet.
func later(t *testing.T) string {
	t.Helper()
	return overlaid(t, "99", map[string]string{"internal/store/lease.go": "stateVersion"})
}

// TestTwoVersions isn't part of make test: what it changes must not move away unnoticed.
func TestWhatALaterVersionChangesIsThere(t *testing.T) {
	t.Parallel()
	later(t)
}

// TestTwoVersions follows docs/upgrading.md over a new version of the state and back, while attacks begin and people
// click and type.
func TestTwoVersions(t *testing.T) {
	if *versions == 0 {
		t.Skip("takes minutes, and compiles the program twice: make versions")
	}
	r := openRound(t, build(t), plan{seed: *seed, mix: kept, lasts: time.Hour, replicas: 2})
	r.roll(build(t, "-overlay", later(t)))
	v := r.settle()
	fmt.Print(r.report(v))
	require.True(t, v.clean(), "lost or done twice; logs in %s\n%s", r.logs, v.lines())
}

// roll upgrades and goes back under load, until all of it has settled.
func (r *round) roll(newer string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	for n := range people() {
		busy.Go(func() { r.act(ctx, people()[n], r.plan.random(uint64(10+n))) })
	}
	older, first := r.replicas[0].binary, r.replicas[0].config
	works := func() { pause(ctx, *versions) }

	works()
	r.refuses(newer, first, "older wafbot") // a rolling update begins, and the older ones go on
	works()
	r.replace(newer, r.prefixed("v99:"))
	works()
	r.refuses(older, r.replicas[0].config, "newer wafbot")
	works()
	r.replace(older, r.prefixed("back:"))
	works()

	cancel()
	busy.Wait()
}

// prefixed is the replicas' configuration with another redis.key_prefix.
func (r *round) prefixed(prefix string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.logs, "wafbot.yaml"))
	require.NoError(r.t, err)
	require.Equal(r.t, 1, strings.Count(string(text), "redis: {"))
	config := filepath.Join(r.logs, strings.TrimSuffix(prefix, ":")+".yaml")
	require.NoError(r.t, os.WriteFile(config, []byte(strings.Replace(string(text), "redis: {", `redis: {key_prefix: "`+prefix+`", `, 1)), 0o600))
	return config
}

// refuses starts a replica of another version beside the others. It ends by itself, says why, and has done nothing.
func (r *round) refuses(binary, config, why string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), startPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "serve", "--config", config)
	cmd.Env = append(os.Environ(), "WAFBOT_LISTEN=127.0.0.1:0")
	var audit, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &audit, &log
	_ = cmd.Run() // it fails, as its code says
	require.Equal(r.t, 1, cmd.ProcessState.ExitCode(), "%s", &log)
	require.Contains(r.t, log.String(), why)
	require.Empty(r.t, audit.String())
	r.count("refused: " + why)
}

// replace stops all replicas, then starts as many of another version, which know nothing but what Slack and the service
// hold.
func (r *round) replace(binary, config string) {
	r.t.Helper()
	var stopped sync.WaitGroup
	for _, one := range r.replicas {
		stopped.Go(func() {
			if err := one.terminate(); err != nil {
				r.t.Error(err)
			}
		})
	}
	stopped.Wait()
	for _, one := range r.replicas {
		one.binary, one.config = binary, config
		require.NoError(r.t, one.start())
	}
	r.count("all stopped, and another version started")
}
