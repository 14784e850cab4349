package poller_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
	"github.com/wafbot/wafbot/poller/storm"
)

// stormy is an account that is watched, in which more than three attacks in a minute are a storm.
func stormy(t *testing.T) (*account, *poller.Poller) {
	a := newAccount(t)
	a.storm = storm.Config{Storm: config.Storm{Over: 3, In: time.Minute}, EndsAfter: 10 * time.Minute}
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, []string{"first start "}, a.store.takeNames())
	a.asked("")
	return a, p
}

// addMany puts in attacks PREFIX:00, PREFIX:01, … that begin now.
func (a *account) addMany(prefix string, n int, change ...func(*attackRecord)) {
	for i := range n {
		a.add(fmt.Sprintf("%s:%02d", prefix, i), 0, change...)
	}
}

// eventNames are the events, with the ids of storms as S1, S2, … in the order in which they came.
func eventNames(a *account) []string {
	names := map[string]string{}
	for i, s := range storms(a) {
		names[s.Attack.ID] = fmt.Sprintf("S%d", i+1)
	}
	out := []string{}
	for _, n := range a.store.takeEvents() {
		if n.Kind != record.APIUnreachable && n.Kind != record.MonitoringGap {
			out = append(out, string(n.Kind)+" "+cmp.Or(names[n.Subject], n.Subject))
		}
	}
	return out
}

// storms are the stored storms, the earliest first.
func storms(a *account) (all []record.AttackState) {
	for _, s := range a.store.state[a.name].Attacks {
		if s.Storm != nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y record.AttackState) int {
		return cmp.Or(x.Storm.Began.Compare(y.Storm.Began), cmp.Compare(x.Attack.ID, y.Attack.ID))
	})
	return all
}

// inStorm are the ids of the attacks that a storm shows.
func inStorm(a *account, storm string) []string {
	ids := []string{}
	for id, s := range a.store.state[a.name].Attacks {
		if s.StormID == storm && !s.OwnCard {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func stormPoll(t *testing.T, a *account, p *poller.Poller, after time.Duration) []string {
	t.Helper()
	a.at(after)
	require.NoError(t, p.Poll(t.Context()))
	return eventNames(a)
}

func TestAStormBeginsGroupsAndEnds(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("a", 3)
	require.Equal(t, []string{"new attack a:00", "new attack a:01", "new attack a:02"}, stormPoll(t, a, p, 0), "three are no storm")
	a.at(30 * time.Second)
	a.addMany("b", 1)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 30*time.Second), "one more within the minute is")
	s := storms(a)[0]
	require.Equal(t, []string{"b:00"}, inStorm(a, s.Attack.ID))
	require.Equal(t, []any{3, 1, 0, "C0"}, []any{s.Storm.Before, s.Storm.Grouped, s.Storm.Incidents, s.Channel})

	a.at(5 * time.Minute)
	a.addMany("c", 2, func(r *attackRecord) { r.hits = 50 })
	require.Equal(t, []string{"grew S1", "grew a:00", "grew a:01", "grew a:02"}, stormPoll(t, a, p, 5*time.Minute), "single ones are grouped while it goes on")
	a.add("d:00", 0, incident)
	require.Equal(t, []string{"new incident d:00", "grew S1"}, stormPoll(t, a, p, 5*time.Minute+time.Second), "an incident has its own event, and first")
	s = storms(a)[0]
	require.Equal(t, []any{3, 1, int64(200), 3}, []any{s.Storm.Grouped, s.Storm.Incidents, s.Storm.Hits, s.Storm.Passing()})
	require.True(t, s.Storm.Ended.IsZero())

	p = a.start() // another replica
	require.Equal(t, []string{"grew d:00", "grew S1", "grew a:00", "grew a:01", "grew a:02"}, stormPoll(t, a, p, 10*time.Minute+29*time.Second), "nothing gets through any more, and no more of it came")
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 10*time.Minute+30*time.Second), "it says that it is over")
	require.True(t, noon.Add(10*time.Minute+30*time.Second).Equal(storms(a)[0].Storm.Ended))
	require.Contains(t, inStorm(a, s.Attack.ID), "b:00")
	a.add("e:00", 0)
	require.Equal(t, []string{"new attack e:00"}, stormPoll(t, a, p, 10*time.Minute+31*time.Second), "a card of its own again")
	require.Equal(t, []string{"quiet a:00", "quiet a:01", "quiet a:02", "grew e:00", "grew d:00", "grew S1"}, stormPoll(t, a, p, 16*time.Minute), "of the storm's own one goes on less")
	require.Contains(t, stormPoll(t, a, p, 21*time.Minute), "quiet S1")
	require.Equal(t, 0, storms(a)[0].Storm.Ongoing)

	a.at(22 * time.Minute)
	a.addMany("f", 5)
	require.Equal(t, []string{"new attack S2"}, stormPoll(t, a, p, 22*time.Minute), "a later flood is another storm")
	require.Len(t, inStorm(a, storms(a)[1].Attack.ID), 5)
}

func TestAStormGetsWorseAsOne(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	a.routes = []config.Route{{Mention: "S0ONCALL", Page: &config.Page{After: 5 * time.Minute}}}
	p := a.start()
	a.addMany("x", 5, blocked)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	s := storms(a)[0]
	require.Equal(t, []any{"S0ONCALL", 5 * time.Minute, "everything"}, []any{s.Mention, s.Pager.After, s.Pager.Route})
	for _, id := range inStorm(a, s.Attack.ID) {
		require.Nil(t, a.store.state["acme"].Attacks[id].Pager, "the storm's is called")
	}
	a.change("x:00", func(r *attackRecord) { r.hits = 20_000 })
	require.Equal(t, []string{"worsened S1"}, stormPoll(t, a, p, time.Minute), "500 were 5,000 and more")
	require.False(t, storms(a)[0].Pager.WorsenedAt.IsZero())
	a.change("x:01", func(r *attackRecord) { r.status = "monitored" })
	require.Equal(t, []string{"worsened S1"}, stormPoll(t, a, p, 2*time.Minute), "something gets through")
	a.change("x:01", func(r *attackRecord) { r.status = "blocked" })
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 3*time.Minute))
	a.change("x:02", func(r *attackRecord) { r.status = "monitored" })
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 4*time.Minute), "not for the first time")
	require.Len(t, a.store.notified, 6)
}

func TestAStormCallsNoMoreOftenThanAnAttack(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	a.routes, a.storm.EndsAfter = []config.Route{{Match: config.Match{Type: config.OneOrMore{"xss"}}}, {Mention: "S0ONCALL"}}, time.Hour
	p := a.start()
	worse := func(after time.Duration, hits int) record.Event {
		a.change("x:00", func(r *attackRecord) { r.hits = hits })
		a.at(after)
		require.NoError(t, p.Poll(t.Context()))
		events := a.store.takeEvents()
		require.Equal(t, record.Worsened, events[0].Kind)
		return events[0]
	}
	a.addMany("x", 5, blocked)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	require.True(t, worse(9*time.Minute, 20_000).Said().Suppressed)
	p = a.start()
	require.False(t, worse(10*time.Minute, 2_000_000).Said().Suppressed)
	require.True(t, worse(11*time.Minute, 200_000_000).Said().Suppressed)
}

func TestAGroupedAttackBecomesAnIncident(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	a.routes = []config.Route{{Match: config.Match{Kind: config.OneOrMore{config.KindIncident}}, Channel: "C1", Mention: "S0ONCALL", Page: &config.Page{After: time.Minute}}, {}}
	p := a.start()
	a.addMany("x", 5, blocked)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	a.change("x:03", func(r *attackRecord) { r.vuln, r.status = 812, "monitored" })
	a.at(time.Second)
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Equal(t, []any{record.NewIncident, "x:03", "C1", "S0ONCALL", record.CardDelivery("acme", "x:03")}, []any{events[0].Kind, events[0].Subject, events[0].Channel, events[0].Said().Mention, events[0].ID})
	require.Equal(t, []any{2, record.Grew, 1, 1, 5}, []any{len(events), events[1].Kind, events[1].Attack.Storm.Incidents, events[1].Attack.Storm.OwnCards, events[1].Attack.Storm.Grouped}, "what its card says makes the storm no worse")
	one := a.store.state["acme"].Attacks["x:03"]
	require.True(t, one.OwnCard && one.Notified && one.Pager.After == time.Minute)

	a.change("x:03", func(r *attackRecord) { r.hits = 50_000 })
	require.Equal(t, []string{"worsened x:03", "grew S1"}, stormPoll(t, a, p, 2*time.Second), "from now on it has events like any other")
	p = a.start()
	a.change("x:04", func(r *attackRecord) { r.status = "monitored" })
	require.Equal(t, []string{"worsened S1"}, stormPoll(t, a, p, 3*time.Second))
}

func TestAfterItsStormAnAttackHasEventsAgain(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	m := &mutes{}
	a.muted = m.read
	p := a.start()
	a.addMany("x", 6)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	hit(a, "x:00", 4*time.Minute, 6000)
	require.Equal(t, []string{"worsened S1"}, stormPoll(t, a, p, 4*time.Minute), "not by itself")
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 10*time.Minute))
	hit(a, "x:00", 11*time.Minute, 60_000)
	require.Equal(t, []string{"new attack x:00", "grew S1"}, stormPoll(t, a, p, 11*time.Minute), "now it is")
	require.Equal(t, []string{"quiet S1", "grew x:00"}, stormPoll(t, a, p, 15*time.Minute), "without the one whose card says that it goes on")
	require.Equal(t, []any{1, 1}, []any{storms(a)[0].Storm.OwnCards, storms(a)[0].Storm.Ongoing})

	p = a.start()
	m.set("x:01")
	hit(a, "x:01", 20*time.Minute, 200)
	require.Equal(t, []string{"grew x:00"}, stormPoll(t, a, p, 20*time.Minute), "the other is muted")
	m.set()
	require.Equal(t, []string{"new attack x:01", "grew S1"}, stormPoll(t, a, p, 21*time.Minute), "it resumed")
	require.Equal(t, []any{6, 2, true}, []any{storms(a)[0].Storm.Grouped, storms(a)[0].Storm.OwnCards, storms(a)[0].Quiet})

	for i := range 4 {
		hit(a, fmt.Sprintf("x:0%d", i+2), 40*time.Minute, 300)
	}
	require.Equal(t, []string{"new attack S2"}, slices.DeleteFunc(stormPoll(t, a, p, 40*time.Minute), func(n string) bool { return strings.HasPrefix(n, "quiet") }))
	require.Len(t, inStorm(a, storms(a)[1].Attack.ID), 4, "a flood of those that were grouped before is a storm, too")
	require.Equal(t, 6, storms(a)[0].Storm.Grouped, "what was notified before stays true")
}

func TestAStormInEachChannel(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	xss := config.Route{Match: config.Match{Type: config.OneOrMore{"xss"}}, Channel: "C1"}
	a.routes = []config.Route{xss, {Match: config.Match{MinHits: 10}}}
	m := &mutes{}
	m.set("m:00", "m:01")
	a.muted = m.read
	p := a.start()
	a.addMany("a", 4, func(r *attackRecord) { r.typ = "xss" })
	a.addMany("b", 2)
	a.addMany("few", 3, func(r *attackRecord) { r.hits = 9 })
	a.addMany("m", 2)
	a.addMany("denied", 2, func(r *attackRecord) { r.typ = "blocked_source" })
	a.addMany("false", 2, func(r *attackRecord) { r.state = "falsepositive" })
	a.addMany("i", 2, incident)
	require.Equal(t, []string{"new incident i:00", "new incident i:01", "new attack S1", "new attack b:00", "new attack b:01"}, stormPoll(t, a, p, 0),
		"what gets no card makes no storm, nor do incidents")
	require.Equal(t, "C1", storms(a)[0].Channel)
	m.set()
	require.Equal(t, []string{"new attack S2"}, stormPoll(t, a, p, time.Second), "four by now")
	require.Equal(t, []any{2, 0, 2}, []any{storms(a)[0].Storm.Incidents, storms(a)[1].Storm.Incidents, storms(a)[1].Storm.Before})
	require.Equal(t, []string{"m:00", "m:01"}, inStorm(a, storms(a)[1].Attack.ID))
}

// A storm whose attacks all went over to the next one is quiet: its card must not say for ever that they go on.
func TestAStormThatLosesItsLastAttack(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	p := a.start()
	a.addMany("x", 4)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	for i := range 4 {
		hit(a, fmt.Sprintf("x:0%d", i), 5*time.Minute, 200)
	}
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 5*time.Minute))
	for i := range 4 {
		hit(a, fmt.Sprintf("x:0%d", i), 12*time.Minute, 60_000)
	}
	require.ElementsMatch(t, []string{"new attack S2", "quiet S1"}, stormPoll(t, a, p, 12*time.Minute))
	first := storms(a)[0]
	require.Equal(t, []any{4, 0, true}, []any{first.Storm.Grouped, first.Storm.Ongoing, first.Quiet})
	require.Len(t, inStorm(a, storms(a)[1].Attack.ID), 4)
	p = a.start()
	require.Equal(t, []string{"quiet S2"}, stormPoll(t, a, p, 40*time.Minute))
}

func TestAMutedStorm(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	m := &mutes{}
	a.muted = m.read
	p := a.start()
	a.addMany("x", 4)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	m.set(storms(a)[0].Attack.ID)
	a.change("x:00", func(r *attackRecord) { r.hits = 50_000 })
	a.at(time.Minute)
	a.addMany("y", 1)
	require.Empty(t, stormPoll(t, a, p, time.Minute), "it groups, and says nothing")
	require.Equal(t, 5, storms(a)[0].Storm.Grouped)
	require.Empty(t, stormPoll(t, a, p, 10*time.Minute))
	require.False(t, storms(a)[0].Storm.Ended.IsZero(), "nor does a mute keep it on")
	m.set()
	require.Equal(t, []string{"worsened S1"}, stormPoll(t, a, p, 10*time.Minute+time.Second), "nothing is lost")
}
