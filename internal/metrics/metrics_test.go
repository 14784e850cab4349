package metrics

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of metrics into docs/metrics.md")

const metricsDoc = "../../docs/metrics.md"

// table is the table of metrics: its head and all its rows.
var table = regexp.MustCompile(`(?m)^\| metric \| kind \| labels \| what it is \|\n\|---\|---\|---\|---\|\n(\| .*\n)*`)

func TestDocsHaveTheTableOfMetrics(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(metricsDoc)
	require.NoError(t, err)
	want := "| metric | kind | labels | what it is |\n|---|---|---|---|\n"
	for _, d := range New().Definitions() {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		want += fmt.Sprintf("| `%s` | %s | %s | %s |\n", d.Name, d.Kind, labels, d.Help)
	}
	require.True(t, table.Match(doc))
	if *update {
		require.NoError(t, os.WriteFile(metricsDoc, table.ReplaceAllLiteral(doc, []byte(want)), 0o644))
		return
	}
	require.Equal(t, want, string(table.Find(doc)), "run: go test ./internal/metrics -run TestDocs -update")
}

// everything is a State in which everything is known.
func everything(context.Context) State {
	n, yes, d := 3, true, time.Minute
	q := Queue{Waiting: 2, Age: time.Minute}
	return State{Config: &Config{Loaded: true}, SlackUp: true, Receiving: true, SocketLinks: &n, RedisUp: true, Replicas: &n, Requests: &q, RedisClock: &d, ServiceClock: &d, Accounts: []Account{
		{Name: "acme", Interval: 15 * time.Second, Owned: true, Polled: true, Reachable: true, LastGood: time.UnixMilli(1500), Attacks: 7, Capped: true, PermissionLost: &yes, Events: q, StaleCards: q, Approvals: &q},
		{Name: "globex", Interval: 15 * time.Second},
	}}
}

func page(t *testing.T, m *Metrics, read func(context.Context) State) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Serve(read).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	return w.Body.String()
}

// What is not known is left out, and what only an owner knows is the owner's.
func TestOnlyTheOwnerShowsAnAccount(t *testing.T) {
	t.Parallel()
	all := page(t, New(), everything)
	for _, line := range []string{
		"wafbot_account_owned{account=\"acme\"} 1", "wafbot_account_owned{account=\"globex\"} 0", "wafbot_account_last_good_poll_timestamp_seconds{account=\"acme\"} 1.5",
		"wafbot_approvals_waiting_age_seconds{account=\"acme\"} 60", "wafbot_clock_offset_seconds{against=\"service\"} 60", "wafbot_replicas 3",
	} {
		require.Contains(t, all, "\n"+line+"\n")
	}
	require.Equal(t, 2, strings.Count(all, `{account="globex"}`), "whose it is, and its interval")
	none := page(t, New(), func(context.Context) State { return State{Accounts: []Account{{Name: "acme", Owned: true}}} })
	for _, d := range []string{"replicas", "requests", "clock", "account_reachable", "account_last", "account_permission", "approvals"} {
		require.NotContains(t, none, "\nwafbot_"+d)
	}
	require.Contains(t, none, "\nwafbot_redis_up 0\n")
}

// Prometheus' own linter finds nothing in what is shown.
func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := New()
	for _, v := range []interface{ Inc() }{
		m.SlackCalls.WithLabelValues("chat.postMessage", "ok"), m.SlackRefused.WithLabelValues("chat.update"), m.Notified.WithLabelValues("new_attack", "high"),
		m.Changes.WithLabelValues("deny", "done"), m.Pages.WithLabelValues("acme", "taken"),
	} {
		v.Inc()
	}
	m.Polls.WithLabelValues("acme").Observe(1)
	shown := page(t, m, everything)
	found, err := promlint.New(strings.NewReader(shown)).Lint()
	require.NoError(t, err)
	require.Empty(t, found)
	for _, d := range m.Definitions() {
		require.Contains(t, shown, "\n# TYPE "+d.Name+" "+d.Kind+"\n")
		require.Contains(t, shown, "# HELP "+d.Name+" "+d.Help+"\n")
	}
}
