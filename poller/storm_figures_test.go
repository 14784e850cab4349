package poller_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

func TestAStormsFigures(t *testing.T) {
	t.Parallel()
	a, _ := stormy(t)
	a.routes = []config.Route{{}}
	p := a.start()
	a.addMany("a", 6, blocked, func(r *attackRecord) { r.sources = []string{"198.51.100.23", "192.0.2.1"} })
	a.add("b:00", time.Minute, func(r *attackRecord) {
		r.hits, r.sources, r.typ, r.app, r.begun = 40, []string{"203.0.113.9"}, "xss", 7, 2*time.Hour
	})
	a.add("b:01", 0, func(r *attackRecord) { r.hits, r.status = 60, "odd" })
	a.add("c:00", 0, blocked, func(r *attackRecord) { r.state = "falsepositive" })
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	s := storms(a)[0]
	passing := s.Storm.Unblocked
	s.Storm.Unblocked = nil
	require.Equal(t, &record.Storm{
		Over: 3, In: time.Minute, EndsAfter: 10 * time.Minute, Began: noon.UTC(), Exceeded: noon.UTC(), Grouped: 8, Ongoing: 8, Hits: 700, Severity: record.SeverityHigh,
		Status: map[apiclient.Status]int{"blocked": 6, "not_blocked": 1, "unknown": 1},
		Types:  map[string]int{"sqli": 7, "xss": 1},
		Apps:   map[int64]int{4: 7, 7: 1}, AppCount: 2,
		Sources: map[netip.Addr]int{netip.MustParseAddr("198.51.100.23"): 6, netip.MustParseAddr("192.0.2.1"): 6, netip.MustParseAddr("203.0.113.9"): 1, netip.MustParseAddr("203.0.113.7"): 1},
		Source:  netip.MustParseAddr("198.51.100.23"), Country: "FR", SharedBy: 6,
		Through: map[apiclient.Status]int{"not_blocked": 1}, UnblockedCount: 1, LastThrough: noon.UTC(),
		Behind: []record.StormSource{{Source: apiclient.Source{IP: netip.MustParseAddr("203.0.113.9"), Hits: apiclient.Known(40), Country: "FR"}, In: 1, InAll: 1}},
	}, s.Storm)
	require.Equal(t, "b:00", passing[0].ID, "of the other it is unknown")
	sum := s.Attack
	require.Equal(t, "198.51.100.23 600", fmt.Sprint(sum.Sources[1].IP, " ", sum.Sources[1].Hits.N), "as busy as the other")
	sum.Sources = nil
	require.Equal(t, apiclient.Attack{
		ID: s.Attack.ID, ClientID: 5, Domain: "shop.example.com", Path: "/login", Method: "POST", First: noon.Add(-2 * time.Hour).UTC(), Last: noon.UTC(),
		Hits: apiclient.Known(700), SourceCount: apiclient.Known(4), BlockStatus: "monitored",
	}, sum)

	a.change("b:00", func(r *attackRecord) { r.status = "blocked" })
	a.change("a:00", func(r *attackRecord) { r.hits = 150 })
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, time.Second), "the card must not say what isn't so")
	a.change("a:00", func(r *attackRecord) { r.hits = 160 })
	require.Empty(t, stormPoll(t, a, p, 2*time.Second), "figures wait for their minute")
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, time.Minute+2*time.Second), "and come then, though nothing changed any more")
	require.Equal(t, int64(760), storms(a)[0].Storm.Hits)
	require.Empty(t, stormPoll(t, a, p, 3*time.Minute))
}

func TestAStormWithoutOneSourceNamesThePlace(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	for i := range 6 {
		a.add(fmt.Sprint("x:", i), 0, func(r *attackRecord) { r.sources = []string{fmt.Sprint("203.0.113.", i)} })
	}
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	s := storms(a)[0].Storm
	require.Equal(t, []any{"POST shop.example.com/login", 6, false, 6}, []any{s.Place, s.SharedBy, s.Source.IsValid(), s.UnblockedCount})
}

// An incident that came a while before has its own card, and is none of the storm's; one on the first page of the poll
// that finds the storm on the second is.
func TestIncidentsBeforeAStormArentItsOwn(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("old", 110)
	require.Equal(t, []string{"new attack S1", "grew S1"}, stormPoll(t, a, p, 0))
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 10*time.Minute))
	a.add("i:0", 0, incident)
	require.Equal(t, []string{"new incident i:0"}, stormPoll(t, a, p, 11*time.Minute))
	a.at(11*time.Minute + 30*time.Second)
	for i := range 97 {
		hit(a, fmt.Sprintf("old:%02d", i), 11*time.Minute+30*time.Second, 101)
	}
	a.add("i:1", 0, incident)
	a.addMany("new", 2)
	a.addMany("more", 4, func(r *attackRecord) { r.last = r.last.Add(-time.Second) })
	require.Equal(t, []string{"new incident i:1", "new attack new:00", "new attack new:01", "grew S1", "new attack S2"}, stormPoll(t, a, p, 11*time.Minute+30*time.Second))
	s := storms(a)[1].Storm
	require.Equal(t, []int{1, 2, 4}, []int{s.Incidents, s.Before, s.Grouped})
}

func TestAStormsSourcesThatArentListed(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 4)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	require.Equal(t, apiclient.Known(1), storms(a)[0].Attack.SourceCount)
	a.change("x:00", func(r *attackRecord) { r.unlisted, r.hits = 2, 150 })
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, time.Minute))
	require.Equal(t, apiclient.Figure{}, storms(a)[0].Attack.SourceCount, "they may be the others' or not")
}

// An attack whose denied source still tries doesn't go on, nor is it quiet.
func TestAStormThatIsOnlyStillTrying(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 4)
	a.addMany("y", 2, func(r *attackRecord) { r.sources = []string{"198.51.100.23"} })
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	tryAgain := func(at time.Duration) []string {
		a.at(at)
		a.add(fmt.Sprint("denied:", at), 0, func(r *attackRecord) { r.typ, r.sources = "blocked_source", []string{"198.51.100.23"} })
		return stormPoll(t, a, p, at)
	}
	tryAgain(8 * time.Minute)
	require.Equal(t, []int{6, 0}, []int{storms(a)[0].Storm.Ongoing, storms(a)[0].Storm.StillTrying})
	for at := 15 * time.Minute; at < 17*time.Minute; at += 30 * time.Second {
		tryAgain(at)
	}
	s := storms(a)[0]
	require.Equal(t, []any{0, 2, false}, []any{s.Storm.Ongoing, s.Storm.StillTrying, s.Quiet})
	require.Equal(t, []string{"quiet S1"}, stormPoll(t, a, p, 32*time.Minute))
	require.Equal(t, []int{0, 0}, []int{storms(a)[0].Storm.Ongoing, storms(a)[0].Storm.StillTrying})
}

// What a storm groups has no card to be redrawn: an edit would be spent on each of them.
func TestOnlyTheStormsCardIsRedrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := running(t, func(a *account) {
			a.judges()
			a.storm = storm.Config{Storm: config.Storm{Over: 3, In: time.Minute}, EndsAfter: 10 * time.Minute}
		})
		a.addMany("x", 5, func(r *attackRecord) { r.sources = []string{"192.0.2.10"} })
		after(2 * time.Minute)
		storm := storms(a)[0].Attack.ID
		a.store.takeStale()
		a.mu.Lock()
		a.entries = append(slices.Clone(a.entries), map[string]any{"id": 101, "list": "black", "rule_type": "ip_range", "subnet": "192.0.2.0/24", "pools": []int{0}, "expired_at": 4102444800})
		a.mu.Unlock()
		after(90 * time.Second)
		require.Equal(t, []string{storm}, a.store.takeStale(), "its source was denied")
		a.fail(allFails)
		after(95 * time.Second)
		require.Equal(t, []string{storm}, a.store.takeStale(), "its figures can't be refreshed")
	})
}

// Phones rang with 96 for a burst of 1,000: what a poll has found so far is at least so many, until two complete polls
// found no more.
func TestAStormsCountsAreAtLeast(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 250)
	a.at(0)
	require.NoError(t, p.Poll(t.Context()))
	counts := func() (all [][2]any) {
		for _, e := range a.store.takeEvents() {
			all = append(all, [2]any{e.Attack.Storm.Grouped, e.Attack.Storm.Growing()})
		}
		return all
	}
	require.Equal(t, [][2]any{{100, true}, {250, true}}, counts(), "the first page, and then all")
	require.Empty(t, stormPoll(t, a, p, time.Second))
	a.addMany("y", 1)
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 2*time.Second), "and so it begins again")
	require.Empty(t, stormPoll(t, a, p, 3*time.Second))
	a.at(4 * time.Second)
	require.NoError(t, p.Poll(t.Context()))
	require.Equal(t, [][2]any{{251, false}}, counts())
	require.Empty(t, stormPoll(t, a, p, 5*time.Second))
}

// A storm's hits fell from 6,409 to 6,149: counts are sampled, and attacks leave a storm.
func TestAStormsCountsNeverFall(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 6)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	require.Equal(t, []any{6, int64(600)}, []any{storms(a)[0].Storm.Grouped, storms(a)[0].Storm.Hits})
	a.change("x:00", func(r *attackRecord) { r.hits = 40 })
	a.change("x:01", func(r *attackRecord) { r.state = "falsepositive" })
	stormPoll(t, a, p, 2*time.Minute)
	s := storms(a)[0]
	require.Equal(t, []any{6, int64(600), int64(600), 1}, []any{s.Storm.Grouped, s.Storm.Hits, s.Attack.Hits.N, s.Storm.FalsePositives})
}

// What gets through was hit a short while ago, here within ten times its gap of 36 seconds. Later it is history, though
// the service lists it as not blocked for good.
func TestWhatGetsThroughInAStormIsOfNow(t *testing.T) {
	t.Parallel()
	a, p := stormy(t)
	a.addMany("x", 6)
	require.Equal(t, []string{"new attack S1"}, stormPoll(t, a, p, 0))
	require.Equal(t, 6, storms(a)[0].Storm.Passing())
	hit(a, "x:00", 4*time.Minute, 101)
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 4*time.Minute))
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 7*time.Minute))
	s := storms(a)[0].Storm
	require.Equal(t, []any{1, 1, 6, "x:00"}, []any{s.Passing(), s.UnblockedCount, s.Status[apiclient.StatusNotBlocked], s.Unblocked[0].ID})
	require.Equal(t, []string{"grew S1"}, stormPoll(t, a, p, 11*time.Minute))
	require.Zero(t, storms(a)[0].Storm.Passing())
	require.True(t, noon.Add(4*time.Minute).Equal(storms(a)[0].Storm.LastThrough))
}
