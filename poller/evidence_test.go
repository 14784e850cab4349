package poller_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// hit sets an attack's hits, as of that long after noon, and polls.
func (a *account) hit(t *testing.T, p *poller.Poller, after time.Duration, hits int, change ...func(*attackRecord)) {
	t.Helper()
	a.at(after)
	a.change("x:1", func(r *attackRecord) {
		r.hits, r.last = hits, noon.Add(after)
		for _, c := range change {
			c(r)
		}
	})
	require.NoError(t, p.Poll(t.Context()))
}

func turns(e record.Evidence) (all []string) {
	for _, t := range e.Milestones {
		all = append(all, fmt.Sprint(t.Kind, " ", t.Hits, " ", t.At.Sub(noon)))
	}
	return all
}

func TestEvidenceIsKeptAndNeverOverwritten(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0, func(r *attackRecord) { r.hits = 10 })
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, a.store.kept, "it has no card yet")

	many := func(r *attackRecord) {
		for i := range 40 {
			r.sources = append(r.sources, fmt.Sprintf("198.51.100.%d", i))
		}
	}
	a.hit(t, p, time.Minute, 130)
	e := a.store.kept["x:1"]
	require.Equal(t, apiclient.Known(10), e.First.Attack.Hits, "before it had a card")
	require.True(t, noon.Equal(e.First.At))
	require.EqualValues(t, 120, e.Peak.PerMinute)
	require.True(t, noon.Equal(e.Peak.Since))

	a.hit(t, p, 2*time.Minute, 730, many)
	a.hit(t, p, 3*time.Minute, 740)
	_, before := a.store.counts()
	a.hit(t, p, 3*time.Minute+15*time.Second, 760)
	_, now := a.store.counts()
	require.Equal(t, before, now, "slower than its peak, and no minute since the card was drawn")
	a.hit(t, p, 4*time.Minute, 800, incident)
	a.hit(t, p, 5*time.Minute, 20_000, blocked)
	a.at(time.Hour)
	require.NoError(t, p.Poll(t.Context()))
	a.hit(t, p, 70*time.Minute, 20_010)
	e = a.store.kept["x:1"]
	require.Equal(t, apiclient.Known(10), e.First.Attack.Hits)
	require.EqualValues(t, 19_200, e.Peak.PerMinute)
	require.Equal(t, apiclient.StatusBlocked, e.Peak.Attack.Status())
	require.Len(t, e.Peak.Attack.Sources, 10, "evidence is small")
	require.Equal(t, apiclient.Known(41), e.Peak.Attack.SourceCount)
	require.False(t, e.Late)
	require.Equal(t, []string{
		"new attack 130 1m0s", "became incident 800 4m0s", "worsened 20,000 5m0s", "quiet 20,000 1h0m0s", "resumed 20,010 1h10m0s",
	}, turns(e))
}

// Another replica goes on from what is kept, and knows what a peak is.
func TestEvidenceOutlivesAReplica(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	a.hit(t, p, time.Minute, 700)
	other := a.start()
	a.hit(t, other, 2*time.Minute, 800)
	a.hit(t, other, 3*time.Minute, 900, incident)
	e := a.store.kept["x:1"]
	require.EqualValues(t, 600, e.Peak.PerMinute)
	require.Equal(t, apiclient.Known(100), e.First.Attack.Hits)
	require.Equal(t, []string{"new attack 100 0s", "became incident 900 3m0s"}, turns(e))

	reads := 0
	a.store.breaks(func(write bool) (bool, bool) {
		if !write {
			reads++
		}
		return !write && reads == 2, false // the state is read, the evidence isn't
	})
	third := a.start()
	a.at(4 * time.Minute)
	a.change("x:1", func(r *attackRecord) { r.hits, r.last = 2000, noon.Add(4*time.Minute) })
	require.ErrorContains(t, third.Poll(t.Context()), "load evidence")
	require.NoError(t, third.Poll(t.Context()))
	require.EqualValues(t, 1100, a.store.kept["x:1"].Peak.PerMinute)
}

func TestEvidenceAfterRedisWasEmptied(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.store.state["acme"] = poller.State{LastGood: noon, Attacks: map[string]record.AttackState{"x:1": rebuild.Attack(cardOf("x:1"), noon)}}
	a.add("x:1", 0)
	require.NoError(t, a.start().Poll(t.Context()))
	e := a.store.kept["x:1"]
	require.True(t, e.Late)
	require.Equal(t, apiclient.Known(100), e.First.Attack.Hits)
}

func TestACourseIsBounded(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	for i := range 30 {
		at := time.Duration(i+1) * 40 * time.Minute
		a.at(at)
		require.NoError(t, p.Poll(t.Context()))
		a.hit(t, p, at+time.Second, 100)
	}
	e := a.store.kept["x:1"]
	require.Len(t, e.Milestones, 30)
	require.Equal(t, 31, e.Dropped)
	require.Equal(t, record.NewAttack, e.Milestones[0].Kind)
	require.True(t, noon.Add(30*40*time.Minute+time.Second).Equal(e.Milestones[29].At))
	text := strings.Repeat("x", 100_000)
	require.Less(t, len(apiclient.Attack{Path: text, Domain: text + "\xff"}.Brief().Path), 500)
}

// Polls may come often: over less than some seconds it is unknown how fast hits come.
func TestAPeakNeedsTime(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0)
	require.NoError(t, p.Poll(t.Context()))
	for i := range 40 {
		a.hit(t, p, time.Duration(i)*250*time.Millisecond, 100+10*i)
	}
	require.Nil(t, a.store.kept["x:1"].Peak)
	a.hit(t, p, 10*time.Second, 600)
	require.EqualValues(t, 3000, a.store.kept["x:1"].Peak.PerMinute)
}

func TestATimeWithoutPollsIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(*account) {})
		after(10 * time.Minute)
		from := a.store.state["acme"].LastGood
		a.fail(allFails)
		after(20 * time.Minute)
		require.Empty(t, a.store.gone)
		a.fail(nil)
		after(2 * time.Minute)
		require.Len(t, a.store.gone, 1)
		gone := a.store.gone[0]
		require.WithinDuration(t, from, gone.From, time.Minute)
		require.WithinDuration(t, from.Add(20*time.Minute), gone.Until, 2*time.Minute)
		require.Equal(t, "the service answers with errors", gone.Why)
	})
}
