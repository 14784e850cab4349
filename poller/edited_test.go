package poller_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// takeStale are the attacks whose cards were marked since the last time.
func (m *fakeStore) takeStale() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := m.redraw
	m.redraw = nil
	return ids
}

// A source that another person lists makes no event: its attack's record stays as it was.
func TestCardsOfListedSourcesAreRedrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			a.judges()
			a.entries = append(a.entries, map[string]any{"id": 7, "list": "black", "rule_type": "country", "source_values": []string{"FR"}, "pools": []int{0}})
		})
		a.add("x:1", 0, func(r *attackRecord) { r.sources = []string{"192.0.2.10"} })
		a.add("x:2", 0, func(r *attackRecord) { r.sources = []string{"203.0.113.7"} })
		after(7 * time.Minute) // both pause by then: that is on their cards
		a.store.takeStale()

		list := func(change func(entries []map[string]any) []map[string]any) []string {
			a.mu.Lock()
			a.entries = change(slices.Clone(a.entries))
			a.mu.Unlock()
			after(90 * time.Second)
			return a.store.takeStale()
		}
		cdn := map[string]any{"id": 101, "list": "black", "rule_type": "ip_range", "subnet": "192.0.2.0/24", "pools": []int{0}, "expired_at": 4102444800}
		require.Equal(t, []string{"x:1"}, list(func(e []map[string]any) []map[string]any { return append(e, cdn) }))
		require.Empty(t, list(func(e []map[string]any) []map[string]any { return e }), "once")
		require.Equal(t, []string{"x:1"}, list(func(e []map[string]any) []map[string]any {
			e[1] = map[string]any{"id": 101, "list": "black", "rule_type": "ip_range", "subnet": "192.0.2.0/24", "pools": []int{0}, "expired_at": 4102448400}
			return e
		}))
		require.Equal(t, []string{"x:1", "x:2"}, list(func(e []map[string]any) []map[string]any { return e[1:] }), "the country's entry went")
	})
}

// Newer figures wait for their turn among many cards; what a card says first does not.
func TestACardThatSaysSomethingElseFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(*account) {})
		a.add("x:1", 0)
		a.add("x:2", 0)
		after(2 * time.Minute)
		require.Empty(t, a.store.takeStale())
		hit := func(status string) func(*attackRecord) {
			return func(r *attackRecord) { r.hits, r.last, r.status = 3*r.hits, time.Now().Add(5*time.Minute), status }
		}
		a.change("x:1", hit("monitored"))
		a.change("x:2", hit("blocked"))
		after(90 * time.Second)
		require.Equal(t, []string{"x:2"}, a.store.takeStale())
	})
}
