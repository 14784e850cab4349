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
	a.hit(t, p, time.Minute, 130, many)
	e := a.store.kept["x:1"]
	require.Equal(t, apiclient.Known(10), e.First.Attack.Hits, "before it had a card")
	require.True(t, noon.Equal(e.First.At))
	require.True(t, noon.Add(time.Minute).Equal(e.CardAt))
	require.False(t, e.Late)

	a.hit(t, p, 2*time.Minute, 730)
	p = a.start() // another replica
	a.hit(t, p, 4*time.Minute, 800, incident)
	a.hit(t, p, 5*time.Minute, 20_000, blocked)
	a.at(time.Hour)
	require.NoError(t, p.Poll(t.Context()))
	a.hit(t, p, 70*time.Minute, 20_010)
	require.Equal(t, e, a.store.kept["x:1"])
}

func TestEvidenceIsSmall(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", 0, func(r *attackRecord) {
		for i := range 40 {
			r.sources = append(r.sources, fmt.Sprintf("198.51.100.%d", i))
		}
	})
	require.NoError(t, p.Poll(t.Context()))
	e := a.store.kept["x:1"]
	require.Len(t, e.First.Attack.Sources, 10)
	require.Equal(t, apiclient.Known(41), e.First.Attack.SourceCount)
	text := strings.Repeat("x", 100_000)
	require.Less(t, len(apiclient.Attack{Path: text, Domain: text + "\xff"}.Brief().Path), 500)
}

func TestEvidenceAfterRedisWasEmptied(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.store.state["acme"] = record.PollState{LastGood: noon, Attacks: map[string]record.AttackState{"x:1": rebuild.Attack(cardOf("x:1"), noon)}}
	a.add("x:1", 0)
	require.NoError(t, a.start().Poll(t.Context()))
	e := a.store.kept["x:1"]
	require.True(t, e.Late)
	require.True(t, e.CardAt.IsZero())
	require.Equal(t, apiclient.Known(100), e.First.Attack.Hits)
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
