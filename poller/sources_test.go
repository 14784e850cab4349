package poller_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

func from(app int, sources ...string) func(*attackRecord) {
	return func(r *attackRecord) { r.app, r.sources = app, sources }
}

func seen(counted map[netip.Addr]record.SourceActivity) map[string]record.SourceActivity {
	all := map[string]record.SourceActivity{}
	for source, n := range counted {
		all[source.String()] = n
	}
	return all
}

// Of each source that is in several attacks it is stored in how many, and on how many applications; results of mitigations are no attacks, and
// neither is what a person found to be none. One that the service lists twice is one.
func TestSourcesAreCountedOverTheAttacks(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.add("x:1", time.Minute, from(4, "203.0.113.7", "198.51.100.1"))
	a.add("x:2", time.Minute, from(4, "203.0.113.7", "198.51.100.2"))
	a.add("x:3", time.Minute, from(7, "203.0.113.7", "198.51.100.2"), func(r *attackRecord) { r.typ, r.begun = "xss", 3*time.Hour })
	a.add("x:4", time.Minute, from(9, "203.0.113.7"), func(r *attackRecord) { r.typ = apiclient.TypeBlockedSource })
	a.add("x:5", time.Minute, from(9, "203.0.113.7"), func(r *attackRecord) { r.state = "falsepositive" })
	a.add("x:6", time.Minute, from(9, "203.0.113.8", "::ffff:203.0.113.8"))
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []map[string]record.SourceActivity{{"203.0.113.7": {Attacks: 3, Apps: 2, Types: 2, Hours: 2}, "198.51.100.2": {Attacks: 2, Apps: 2, Types: 2, Hours: 2}}}, a.store.takeSources())
}

// It is counted at most once a minute, and stored only when it changed.
func TestSourcesAreCountedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			a.add("x:1", time.Minute, from(4, "203.0.113.7"))
			a.add("x:2", time.Minute, from(4, "203.0.113.7"))
		})
		require.Equal(t, []map[string]record.SourceActivity{{"203.0.113.7": {Attacks: 2, Apps: 1, Types: 1, Hours: 1}}}, a.store.takeSources())
		after(5 * time.Minute)
		require.Empty(t, a.store.takeSources())
		for i := range 40 {
			a.add(fmt.Sprintf("y:%d", i), 0, from(7, "203.0.113.7"))
			after(3 * time.Second)
		}
		require.InDelta(t, 2, len(a.store.takeSources()), 1, "in two minutes")
		after(2 * time.Minute)
		last := a.store.takeSources()
		counted := last[len(last)-1]["203.0.113.7"]
		require.Equal(t, []int{42, 2, 1}, []int{counted.Attacks, counted.Apps, counted.Types})
	})
}

func TestSourcesOutOfTheLookbackDontCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := inProcess(t, time.Now)
		a.add("x:1", time.Minute, from(4, "203.0.113.7"))
		a.add("x:2", time.Minute, from(4, "203.0.113.7"))
		p := a.start()
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.store.takeSources()[0], 1)
		time.Sleep(25 * time.Hour)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []map[string]record.SourceActivity{{}}, a.store.takeSources())
	})
}

// The next owner, and a replica that lost the store's answer, count again.
func TestSourcesAreCountedAgainAfterALoad(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.add("x:1", time.Minute, from(4, "203.0.113.7"))
	a.add("x:2", time.Minute, from(4, "203.0.113.7"))
	p := a.start()
	a.store.breaks(func(write bool) (before, after bool) { return write, false })
	require.Error(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeSources())
	a.store.breaks(nil)
	require.NoError(t, p.Poll(t.Context()))
	require.Len(t, a.store.takeSources(), 1)
	require.NoError(t, a.start().Poll(t.Context()))
	require.Len(t, a.store.takeSources(), 1)
}

// Of a hundred thousand sources the busiest are stored.
func TestOnlyTheBusiestSourcesAreStored(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for hundred := range 30 { // of an attack no more are listed
		var sources []string
		for i := range 100 {
			sources = append(sources, fmt.Sprintf("203.0.%d.%d", hundred, i))
		}
		for attack := range 3 {
			if attack < 2 || hundred == 0 {
				a.add(fmt.Sprint("x:", hundred, ":", attack), time.Minute, from(4, sources...))
			}
		}
	}
	require.NoError(t, a.start().Poll(t.Context()))
	counted := a.store.takeSources()[0]
	require.Len(t, counted, 2000)
	require.Equal(t, record.SourceActivity{Attacks: 3, Apps: 1, Types: 1, Hours: 1}, counted["203.0.0.99"])
	require.Equal(t, record.SourceActivity{Attacks: 2, Apps: 1, Types: 1, Hours: 1}, counted["203.0.1.0"])
}
