package poller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

func TestAFirstStartInAStorm(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.storm = storm.Config{Storm: config.Storm{Over: 3, In: time.Minute}, EndsAfter: 10 * time.Minute}
	a.routes = []config.Route{{Mention: "S0ONCALL", Page: &config.Page{After: time.Minute}}}
	a.addMany("x", 250)
	a.addMany("i", 2, incident)
	a.add("old", time.Hour)
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 4)
	require.Equal(t, record.FirstStartFacts{Ongoing: 252, Grouped: 250, Incidents: 2}, events[0].Detail)
	require.Equal(t, []any{record.NewAttack, true, 250, ""}, []any{events[3].Kind, events[3].Attack.Storm.CaughtUp, events[3].Attack.Storm.Grouped, events[3].Said().Mention})
	require.Nil(t, storms(a)[0].Pager, "no one is called to what went on before")
	p = a.start()
	require.Empty(t, stormPoll(t, a, p, time.Second))
	a.change("x:00", func(r *attackRecord) { r.hits = 1_000_000 })
	a.at(2 * time.Second)
	require.NoError(t, p.Poll(t.Context()))
	events = a.store.takeEvents()
	require.Equal(t, []any{record.Worsened, "S0ONCALL"}, []any{events[0].Kind, events[0].Said().Mention})
	require.NotNil(t, storms(a)[0].Pager)
}

// Many attacks in one poll: incidents, on whatever page, are saved before the storm, and notified with the first
// page.
func TestAStormOfManyPages(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 396)
	for i := range 4 {
		a.add(fmt.Sprint("i:", i), time.Duration(i+1)*time.Second, incident)
	}
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 6)
	for i, n := range events {
		require.Equal(t, i < 4, n.Attack.Attack.Incident(), i)
	}
	require.Equal(t, []any{record.NewAttack, record.Grew, 396, 4}, []any{events[4].Kind, events[5].Kind, events[5].Attack.Storm.Grouped, events[5].Attack.Storm.Incidents})
	require.Equal(t, copied(t, events), copied(t, a.store.notified[1:]))
	require.Equal(t, 3, slices.IndexFunc(a.asked(attacks), func(q request) bool { return !q.Incidents && q.Offset > 0 }), "incidents are looked for right after the first page")
	require.Empty(t, stormPoll(t, a, p, time.Second))
	p = a.start() // another replica
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 2*time.Second), "its card no longer says that there may be more")
	require.Empty(t, stormPoll(t, a, p, 3*time.Second))
}

func TestWhatIsCaughtUpAfterAGap(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.at(time.Hour)
	a.addMany("over", 30, func(r *attackRecord) { r.last = noon.Add(20 * time.Minute) })
	a.addMany("on", 30, func(r *attackRecord) { r.begun = 10 * time.Minute })
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 2)
	gap, storm := events[0], events[1]
	if gap.Kind != record.MonitoringGap {
		gap, storm = storm, gap
	}
	require.Equal(t, []any{0, 30, 30}, []any{gap.Detail.(record.GapFacts).BeganCount, gap.Detail.(record.GapFacts).Grouped, gap.Detail.(record.GapFacts).OverCount})
	require.Equal(t, []any{true, 30}, []any{storm.Attack.Storm.CaughtUp, storm.Attack.Storm.Grouped})
	require.Empty(t, stormPoll(t, a, p, time.Hour+time.Second))
}

// After Redis was emptied only the card of a storm is left: what went on is taken for its own, so that there is no
// second one, nor many others.
func TestARebuiltStorm(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 30)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	id := storms(a)[0].Attack.ID
	for name, tt := range map[string]struct {
		ongoing int
		want    []string
		ended   bool
	}{
		"it goes on":   {30, []string{"grew S1", "grew S1"}, false},
		"it may be on": {2, []string{"grew S1", "grew S1"}, true},
		"it is over":   {0, []string{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := stormy(t)
			b.at(2 * time.Minute)
			at := noon.Add(2 * time.Minute)
			rebuilt := rebuild.Attack(record.CardMetadata{AttackID: id, Status: apiclient.StatusNotBlocked, Decade: 4, Channel: "C0"}, at)
			b.store.state["acme"] = record.PollState{LastGood: at, Attacks: map[string]record.AttackState{id: rebuilt}}
			b.addMany("x", tt.ongoing)
			p := b.start()
			require.Equal(t, tt.want, stormPoll(t, b, p, 2*time.Minute))
			require.Len(t, inStorm(b, id), tt.ongoing)
			s := storms(b)[0]
			require.Equal(t, []any{tt.ended, true, tt.ongoing == 0}, []any{!s.Storm.Ended.IsZero(), s.Storm.CaughtUp, s.Rebuilt})
			b.add("y", 0)
			want := []string{"new attack y"}
			if tt.ongoing > 3 {
				want = []string{"grew S1"}
			}
			require.Equal(t, want, stormPoll(t, b, p, 2*time.Minute+time.Second))
		})
	}
}

func TestAStormIsDeleted(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 5)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	require.True(t, p.GoesOn(func(id string) bool { return strings.HasPrefix(id, "storm:") }))
	require.Len(t, p.Attacks(), 5, "a storm is no record")
	for hour := range 50 {
		stormPoll(t, a, p, time.Duration(hour+1)*time.Hour)
	}
	require.False(t, p.GoesOn(func(string) bool { return true }))
	require.Empty(t, a.store.state["acme"].Attacks)
	p = a.start()
	a.addMany("y", 5)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 50*time.Hour))
}
