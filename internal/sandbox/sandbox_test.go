package sandbox_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// patience is how long a test waits before it says that something never came: a busy machine takes long.
const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAWorldStopsWithoutAGoroutineLeft(t *testing.T) {
	before := goleak.IgnoreCurrent()
	w, err := sandbox.New(sandbox.Config{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	// A stream, a link, an event that waits for its retry and a scenario's next step must not hold it up.
	_, err = w.Slack.Say(workspace.Saying{User: "ann", Text: "status"})
	require.NoError(t, err)
	_, err = w.Play("slow_incident", "")
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	stream, err := (&http.Client{Transport: transport}).Get(w.URL() + "/sandbox/events")
	require.NoError(t, err)
	link := client{t, w}.link()
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the world did not stop")
	}
	require.NoError(t, stream.Body.Close())
	for range link { // what was on its way comes before the end
	}
	_, err = net.Dial("tcp", strings.TrimPrefix(w.URL(), "http://"))
	require.Error(t, err, "the listener is closed")
	goleak.VerifyNone(t, before)
}

func TestAWorldThatNeverRanIsClosedByRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	w, err := sandbox.New(sandbox.Config{})
	require.NoError(t, err)
	ended, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, w.Run(ended))
	goleak.VerifyNone(t, before)
}

func TestTheEnvironmentIsComplete(t *testing.T) {
	t.Parallel()
	w := run(t, sandbox.Config{Quiet: true, Deliver: "http://127.0.0.1:8080/"})
	env := map[string]string{}
	for _, line := range w.Env() {
		name, value, found := strings.Cut(line, "=")
		require.True(t, found)
		env[name] = value
	}
	names := slices.Sorted(maps.Keys(env))
	require.Equal(t, []string{
		"WAFBOT_ADMINS", "WAFBOT_API_TOKEN", "WAFBOT_API_URL", "WAFBOT_CHANGES", "WAFBOT_CHANNEL", "WAFBOT_LISTEN",
		"WAFBOT_NEVER_DENY", "WAFBOT_REDIS_URL", "WAFBOT_RESPONDERS", "WAFBOT_SLACK_API_URL", "WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_BOT_TOKEN",
		"WAFBOT_SLACK_SIGNING_SECRET", "WAFBOT_VIEWERS",
	}, names)
	require.Equal(t, "127.0.0.1:8080", env["WAFBOT_LISTEN"])
	require.Equal(t, "on", env["WAFBOT_CHANGES"])
	require.Equal(t, "*", env["WAFBOT_VIEWERS"])
	require.Equal(t, w.URL()+"/slack/api/", env["WAFBOT_SLACK_API_URL"])
	require.Equal(t, "U0ROB0002,S0WAFRESP", env["WAFBOT_RESPONDERS"])

	quiet := run(t, sandbox.Config{Quiet: true})
	require.Contains(t, quiet.Env(), "WAFBOT_LISTEN=127.0.0.1:8080", "without an address to deliver to, the bot listens where it does by default")
}

func TestTheRedisRunsKeysDown(t *testing.T) {
	t.Parallel()
	w := run(t, sandbox.Config{Quiet: true})
	address := ""
	for _, line := range w.Env() {
		if url, found := strings.CutPrefix(line, "WAFBOT_REDIS_URL="); found {
			address = url
		}
	}
	options, err := redis.ParseURL(address)
	require.NoError(t, err)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	require.NoError(t, client.Set(t.Context(), "lease", "mine", 20*time.Millisecond).Err())
	require.Eventually(t, func() bool { return client.Exists(t.Context(), "lease").Val() == 0 }, patience, 5*time.Millisecond)
}

func TestTheOpeningScenario(t *testing.T) {
	t.Parallel()
	w := run(t, sandbox.Config{Speed: 100})
	require.Eventually(t, func() bool {
		state, err := w.WAF.State("acme")
		require.NoError(t, err)
		incidents, running, blocked := 0, 0, 0
		for _, attack := range state.Attacks {
			if attack.VulnID != 0 {
				incidents++
			}
			if attack.Running {
				running++
			}
			if attack.BlockStatus == "blocked" && !attack.Running {
				blocked++
			}
		}
		return incidents == 1 && running == 2 && blocked == 1
	}, patience, 20*time.Millisecond)
}

func TestASlowIncidentBecomesOne(t *testing.T) {
	t.Parallel()
	w := run(t, sandbox.Config{Quiet: true, Speed: 100})
	attacks, err := w.Play("slow_incident", "acme")
	require.NoError(t, err)
	require.Zero(t, attacks[0].VulnID)
	require.Eventually(t, func() bool {
		state, err := w.WAF.State("acme")
		return err == nil && state.Attacks[0].VulnID != 0
	}, patience, 10*time.Millisecond)
}

func TestAWorldRefusesANegativeSpeed(t *testing.T) {
	t.Parallel()
	_, err := sandbox.New(sandbox.Config{Speed: -1})
	require.ErrorContains(t, err, "speed")
}
