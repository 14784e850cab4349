package poller_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

func incident(r *attackRecord) { r.vuln = 812 }
func blocked(r *attackRecord)  { r.status = "blocked" }

// watching is an account whose first start is over.
func watching(t *testing.T) (*account, *poller.Poller) {
	a := newAccount(t)
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"first start "}, a.store.takeNames())
	a.asked("")
	return a, p
}

func TestFirstStart(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for i := range 60 {
		a.add(fmt.Sprintf("old:%d", i), time.Hour+time.Duration(i)*time.Minute, incident)
	}
	for i := range 20 {
		a.add(fmt.Sprintf("now:%d", i), time.Duration(i)*time.Second)
	}
	a.routes = []config.Route{{Match: config.Match{Kind: config.OneOrMore{config.KindAttack}}, Channel: "C1", Mention: "S0ONCALL"}, {Mention: "S0ONCALL"}}
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 21)
	require.Equal(t, record.FirstStart, events[0].Kind)
	require.Equal(t, record.FirstStartFacts{Ongoing: 20, Incidents: 60}, events[0].Detail)
	require.Equal(t, "C0", events[0].Channel)
	for _, n := range events[1:] {
		require.Equal(t, record.NewAttack, n.Kind)
		require.Empty(t, n.Said().Mention, "a first start mentions no people")
		require.Equal(t, "C1", n.Channel)
		require.False(t, n.Attack.Quiet)
	}
	require.Equal(t, copied(t, events), copied(t, a.store.notified))

	require.NoError(t, p.Poll(t.Context()))
	require.NoError(t, a.start().Poll(t.Context()))
	require.Empty(t, a.store.takeNames(), "the old ones are not notified later")

	// Nor does a card mention people when it is redrawn, before it got worse.
	a.at(2 * time.Minute)
	a.change("now:4", func(r *attackRecord) { r.hits, r.last = r.hits+100, a.now() })
	require.NoError(t, p.Poll(t.Context()))
	events = a.store.takeEvents()
	require.Len(t, events, 20, "the others pause")
	for _, n := range events {
		require.Equal(t, []any{record.Grew, "C1", ""}, []any{n.Kind, n.Channel, n.Said().Mention})
	}
	a.at(4 * time.Minute)
	a.change("now:4", func(r *attackRecord) { r.hits, r.last = 20_000, a.now() })
	require.NoError(t, p.Poll(t.Context()))
	events = a.store.takeEvents()
	require.Len(t, events, 1)
	require.Equal(t, []any{record.Worsened, "C1", "S0ONCALL"}, []any{events[0].Kind, events[0].Channel, events[0].Said().Mention})

	a.change("now:3", incident)
	require.NoError(t, p.Poll(t.Context()))
	events = a.store.takeEvents()
	require.Len(t, events, 1)
	require.Equal(t, []any{record.BecameIncident, "C0", "S0ONCALL"}, []any{events[0].Kind, events[0].Channel, events[0].Said().Mention}, "where the route of incidents has it")
}

func TestLifeOfAnAttack(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	step := func(minute int, change func(*attackRecord), want ...string) {
		t.Helper()
		a.at(time.Duration(minute) * time.Minute)
		if change != nil {
			a.change("x:1", change)
		}
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, want, append([]string(nil), a.store.takeNames()...))
		require.NoError(t, a.start().Poll(t.Context()), "a replica that takes over")
		require.Empty(t, a.store.takeNames())
		p = a.start()
	}
	hit := func(hits int) func(*attackRecord) {
		return func(r *attackRecord) { r.hits, r.last = hits, a.now() }
	}
	a.add("x:1", 0, func(r *attackRecord) { r.hits = 10 })
	step(0, nil)
	step(1, hit(29))
	step(2, hit(30), "new attack x:1")
	step(3, hit(35), "grew x:1")
	step(4, nil, "grew x:1") // none came in a minute
	step(5, hit(1200), "worsened x:1")
	step(6, incident, "became incident x:1")
	step(19, nil, "grew x:1") // none is seen any more
	step(20, nil, "quiet x:1")
	step(21, nil)
	step(30, hit(1300), "resumed x:1")
	step(31, func(r *attackRecord) { r.state = "falsepositive" }, "grew x:1")
	step(32, hit(90_000))
	step(60, nil)
	step(61, func(r *attackRecord) { r.state = "" }, "worsened x:1")
}

func TestEventsAreCompleteAndStable(t *testing.T) {
	t.Parallel()
	a, p := watching(t)
	a.add("x:1", time.Minute)
	a.add("x:2", time.Hour, incident)
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 2)
	require.Equal(t, []record.EventKind{record.NewIncident, record.NewAttack}, []record.EventKind{events[0].Kind, events[1].Kind}, "incidents first")
	require.True(t, events[0].Attack.Quiet, "it is over: one event says both")
	require.False(t, events[1].Attack.Quiet)
	require.Len(t, events[1].ID, 32)
	require.True(t, noon.Equal(events[1].At), "the service's clock")
	require.Equal(t, apiclient.Known(100), events[1].Attack.Attack.Hits)

	other, q := watching(t)
	other.add("x:1", time.Minute)
	require.NoError(t, q.Poll(t.Context()))
	require.Equal(t, events[1].ID, other.store.takeEvents()[0].ID, "any replica computes the same id")
	b, _ := watching(t)
	b.name = "beta"
	b.add("x:1", time.Hour)
	q = b.start()
	require.NoError(t, q.Poll(t.Context()))
	b.add("x:1", time.Minute)
	require.NoError(t, q.Poll(t.Context()))
	for _, n := range b.store.takeEvents() {
		require.NotEqual(t, events[1].ID, n.ID, "another account's id differs")
	}
}

func TestOldRecordsAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := inProcess(t, time.Now)
		var p *poller.Poller
		restart := func(after time.Duration) (known []string) {
			time.Sleep(after)
			p = a.start()
			require.NoError(t, p.Poll(t.Context()))
			return slices.Sorted(maps.Keys(a.store.state["acme"].Attacks))
		}
		restart(0)
		a.add("x:1", 0)
		a.add("x:2", 0, blocked)
		a.add("x:3", 0, func(r *attackRecord) { r.typ = "blocked_source" })
		require.Equal(t, []string{"x:1", "x:2"}, restart(0))
		require.Equal(t, []string{"first start ", "new attack x:1"}, a.store.takeNames())
		time.Sleep(10 * time.Hour)
		a.change("x:2", func(r *attackRecord) { r.last = time.Now() })
		require.Equal(t, []string{"x:1", "x:2"}, restart(0))
		require.Equal(t, []string{"x:1", "x:2"}, restart(37*time.Hour))
		require.Equal(t, []string{"x:2"}, restart(2*time.Hour), "without a card, but it went on")
		require.Len(t, p.Attacks(), 1)
		time.Sleep(10 * time.Hour)
		require.NoError(t, p.Poll(t.Context()))
		require.Empty(t, p.Attacks())
		require.Empty(t, a.store.state["acme"].Attacks)
	})
}

func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	a, b := newAccount(t), newAccount(t)
	b.store, b.name = a.store, "beta"
	p, q := a.start(), b.start()
	for range 2 {
		require.NoError(t, p.Poll(t.Context()))
		require.NoError(t, q.Poll(t.Context()))
	}
	require.Len(t, a.store.takeNames(), 2, "each has its first start")
	a.add("x:1", 0)
	b.fail(func(request) bool { return true })
	require.NoError(t, p.Poll(t.Context()))
	require.Error(t, q.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
	require.Empty(t, p.Health().Failing)
	require.NotEmpty(t, q.Health().Failing)
	b.fail(nil)
	b.add("x:1", 0)
	require.NoError(t, q.Poll(t.Context()))
	require.Equal(t, []string{"new attack x:1"}, a.store.takeNames(), "the same id is another attack there")
}
