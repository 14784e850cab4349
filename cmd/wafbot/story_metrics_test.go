package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/version"
)

// What a running bot shows follows Prometheus' conventions, holds what happened, and nothing that an attacker wrote.
func TestMetricsOfARunningBot(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.message("#waf", "wafbot watches acme")
		w.attack(waf.AttackSpec{Path: "/x9k-written-by-an-attacker", Hits: 100, Vulnerability: sqlHole()})
		w.card("/x9k-written-by-an-attacker").click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker)
		w.types("vic", "deny 203.0.113.9")
		w.ephemeral("vic", "responder")

		_, page := w.get("/metrics")
		found, err := promlint.New(strings.NewReader(page)).Lint()
		require.NoError(t, err)
		require.Empty(t, found)
		require.NotContains(t, page, "x9k")
		build := version.Get()
		require.Contains(t, page, `wafbot_build_info{commit="`+build.Commit+`",go_version="`+build.Go+`",version="`+build.Version+`"} 1`)
		for series, want := range map[string]float64{
			`wafbot_account_owned{account="acme"}`: 1, `wafbot_account_reachable{account="acme"}`: 1, `wafbot_account_capped{account="acme"}`: 0,
			`wafbot_account_permission_lost{account="acme"}`: 0, `wafbot_account_poll_interval_seconds{account="acme"}`: 0.25,
			`wafbot_changes_total{outcome="done",verb="deny"}`: 1, `wafbot_changes_total{outcome="refused",verb="deny"}`: 1,
			`wafbot_redis_up`: 1, `wafbot_slack_up`: 1, `wafbot_replicas`: 1, `wafbot_requests_waiting`: 0, `wafbot_approvals_waiting{account="acme"}`: 0,
		} {
			require.Equal(t, want, w.metric(series), series)
		}
		require.Positive(t, w.metric(`wafbot_account_attacks{account="acme"}`), "what the denial stops may be listed as one, too")
		require.Positive(t, w.metric(`wafbot_slack_calls_total{method="chat.postMessage",outcome="ok"}`))
		require.Positive(t, w.metric(`wafbot_poll_duration_seconds_count{account="acme"}`))
		require.WithinDuration(t, time.Now(), time.UnixMilli(int64(1000*w.metric(`wafbot_account_last_good_poll_timestamp_seconds{account="acme"}`))), time.Minute)
		require.Positive(t, w.metric("go_goroutines"))
		require.Positive(t, w.metric("process_start_time_seconds"))
		_, ready := w.get("/readyz")
		require.Contains(t, ready, `"version":"`+build.String()+`"`)
	})
}

// metric is the value of a series in /metrics; below 0: there is none.
func (w *world) metric(series string) float64 {
	w.t.Helper()
	_, page := w.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(w.t, err)
	return value
}
