package poller_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/poller"
)

// A token may be allowed to read lists and no attacks. What was edited meanwhile is as much as the lists hold, however
// long that goes on.
func TestEditsWhilePollsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, p := running(t, func(a *account) { a.add("x:1", 0, func(r *attackRecord) { r.sources = []string{"192.0.2.10"} }) })
		a.fail(func(q request) bool { return q.Path == attacks })
		for i := range 100 {
			a.mu.Lock()
			a.entries = []map[string]any{{"id": i, "list": "black", "rule_type": "ip_range", "subnet": fmt.Sprintf("203.0.113.%d/32", i), "pools": []int{0}}}
			a.mu.Unlock()
			p.RefreshSettings()
			after(time.Second)
		}
		require.Len(t, p.Settings().Entries, 1, "of edits nothing is held but what stands")
	})
}

// A service may answer the first page of attacks and no other. What attackers write into that is held up to the limit,
// tries as long as they count.
func TestWhatIsHeldWhilePollsBreakOff(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.limits = poller.Limits{Attacks: 200, Bytes: 1 << 20, Time: 5 * time.Minute}
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	a.fail(func(q request) bool { return q.Incidents || q.Offset > 0 })
	for hour := range 5 {
		a.at(time.Duration(hour) * time.Hour)
		for i := range 99 {
			a.add(fmt.Sprintf("x:%d:%d", hour, i), 0)
		}
		a.add(fmt.Sprintf("denied:%d", hour), 0, func(r *attackRecord) { r.typ, r.sources = "blocked_source", []string{fmt.Sprintf("192.0.2.%d", hour)} })
		require.Error(t, p.Poll(t.Context()))
	}
	decided, tries, before, records := p.Held()
	require.Equal(t, 1, tries)
	require.LessOrEqual(t, records, 200)
	require.LessOrEqual(t, before, records)
	require.LessOrEqual(t, decided, records)
}
