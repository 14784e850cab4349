package commands_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// scanner is the source behind the storms of the tests.
var scanner = netip.MustParseAddr("198.51.100.23")

// storeStorm stores a storm of so many attacks on the Shop. The scanner is behind all but the outliers, which get
// through.
func (w *world) storeStorm(n, odd int) (storm string) {
	w.t.Helper()
	a := apiclient.Attack{
		ID: "storm:C0WAF:1763600400", App: apiclient.Known(4), Domain: "shop.example.com", Path: "[multiple]", First: w.clock().Add(-6 * time.Minute), Last: w.clock(),
		Hits: apiclient.Known(int64(50 * n)), SourceCount: apiclient.Known(2), BlockStatus: "monitored", Sources: []apiclient.Source{{IP: scanner, Hits: apiclient.Known(int64(40 * n)), Country: "NL"}},
	}
	storm = record.AttackID("acme", a.ID)
	s := record.Storm{
		Over: 10, In: time.Minute, EndsAfter: 10 * time.Minute, Began: w.clock().Add(-5 * time.Minute), Exceeded: w.clock(), Before: 3, Grouped: n, Ongoing: n,
		Hits: int64(50 * n), Severity: record.SeverityHigh, Steady: record.SteadyPolls, Through: map[apiclient.Status]int{apiclient.StatusNotBlocked: odd}, Status: map[apiclient.Status]int{apiclient.StatusBlocked: n - odd, apiclient.StatusNotBlocked: odd},
		Types: map[string]int{"scanner": n - odd, "sqli": odd}, Apps: map[int64]int{4: n}, AppCount: 1, Sources: map[netip.Addr]int{scanner: n - odd},
		Source: scanner, Country: "NL", SharedBy: n - odd, UnblockedCount: odd, LastThrough: w.clock(),
		Behind: []record.StormSource{{Source: apiclient.Source{IP: netip.MustParseAddr("203.0.113.7"), Hits: apiclient.Known(int64(30 * odd)), Country: "FR"}, In: odd, InAll: odd}},
	}
	u := record.PollUpdate{Attacks: map[string]record.AttackState{}}
	for i := range n {
		one := apiclient.Attack{
			ID: fmt.Sprint("grouped ", i), App: apiclient.Known(4), Domain: "shop.example.com", Path: fmt.Sprint("/p/", i), Method: "GET", Type: "scanner", BlockStatus: "blocked",
			First: w.clock().Add(-5 * time.Minute), Last: w.clock().Add(-time.Duration(i) * time.Second), Hits: apiclient.Known(int64(1000 - i)), SourceCount: apiclient.Known(1),
			Sources: []apiclient.Source{{IP: scanner, Hits: apiclient.Known(30)}},
		}
		if i >= n-odd {
			one.Type, one.BlockStatus, one.Sources = "sqli", "monitored", []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Hits: apiclient.Known(30), Country: "FR"}}
			if len(s.Unblocked) < 20 {
				s.Unblocked = append(s.Unblocked, one)
			}
		}
		u.Attacks[one.ID] = record.AttackState{Attack: one, StormID: a.ID, ObservedAt: w.clock()}
	}
	u.Attacks[a.ID] = record.AttackState{Attack: a, Storm: &s, ObservedAt: w.clock()}
	w.polled(u)
	return storm
}

// own marks what a storm grouped as having a card of its own.
func (w *world) own(storm string, which func(a apiclient.Attack) bool) {
	w.t.Helper()
	all, err := w.store.Attacks.Load(behind(w.t), "acme")
	require.NoError(w.t, err)
	maps.DeleteFunc(all.Attacks, func(_ string, s record.AttackState) bool {
		return s.StormID == "" || record.AttackID("acme", s.StormID) != storm
	})
	for id, s := range all.Attacks {
		s.OwnCard = which(s.Attack)
		all.Attacks[id] = s
	}
	w.polled(record.PollUpdate{Attacks: all.Attacks})
}

// seenStorm is the one storm there is.
func (w *world) seenStorm() record.StormSeen {
	w.t.Helper()
	all, err := w.store.Attacks.Storms(w.t.Context(), "acme")
	require.NoError(w.t, err)
	require.Len(w.t, all, 1)
	return all[0]
}

func TestAStormIsListed(t *testing.T) {
	w := newWorld(t)
	storm := w.storeStorm(40, 4)
	first := textOf(w.reads(eve, "attacks storm="+storm[:5]))
	require.Contains(t, first, storm+" 4 of 40 NOT BLOCKED · high storm · Shop · since ")
	require.Contains(t, first, "40 attacks, 40 still active", "198.51.100.23 NL is in 36 of 40 attacks")
	require.Regexp(t, "(?s)SQL injection.*scanner", first, "what gets through stands first")
	require.Contains(t, first, "… and 30 more")
	require.Contains(t, textOf(w.reads(eve, "attacks --all page=2 storm="+storm)), "GET shop.example.com/p/35")
	require.NotContains(t, textOf(w.reads(eve, "attacks since=10s storm="+storm)), "SQL injection", "their last hits are longer ago")
	w.own(storm, func(a apiclient.Attack) bool { return a.Type == "sqli" })
	require.Contains(t, textOf(w.reads(eve, "attacks storm="+storm)), "(own card)")

	data, err := json.Marshal(w.reads(eve, "attacks storm="+storm).Data)
	require.NoError(t, err)
	var rows []struct {
		ID, Storm string
		OwnCard   bool `json:"own_card"`
	}
	require.NoError(t, json.Unmarshal(data, &rows))
	require.Len(t, rows, 40, "programs get all of them")
	require.Equal(t, storm, rows[0].Storm)
	require.True(t, rows[0].OwnCard)

	w.refuses(ann, "deny attack=s0000000", refusal.ErrUsage, "Unknown storm: s0000000. status names those that go on")
	w.refuses(eve, "attacks storm=s0000000", refusal.ErrUsage, "Unknown storm: s0000000. status names those that go on")
	w.refuses(eve, "attacks storm="+rows[0].ID, refusal.ErrUsage, "is the id of an attack", "explain attack="+rows[0].ID)
	w.ledger.readFail = true
	w.refuses(eve, "attacks storm="+storm, refusal.ErrAway, "store (Redis) can't be reached")
}

// Whatever storms are stored beside the one that grouped it.
func TestAGroupedAttackIsExplained(t *testing.T) {
	w := newWorld(t)
	single := w.attackOn("/login")
	storm := w.storeStorm(12, 1)
	others := record.PollUpdate{Attacks: map[string]record.AttackState{}}
	for i := range 3 {
		a := apiclient.Attack{ID: fmt.Sprint("storm:C0WAF:176360050", i), App: apiclient.Known(4), First: w.clock(), Last: w.clock()}
		others.Attacks[a.ID] = record.AttackState{Attack: a, Storm: &record.Storm{Began: w.clock(), Grouped: 11}, ObservedAt: w.clock()}
	}
	w.polled(others)
	one := record.AttackID("acme", "grouped 3")
	require.Contains(t, textOf(w.reads(eve, "explain attack="+one)), "Grouped in storm "+storm+": it has no card of its own")
	require.Contains(t, textOf(w.reads(eve, "attack "+one)), "Grouped in storm "+storm)
	w.own(storm, func(apiclient.Attack) bool { return true })
	require.Contains(t, textOf(w.reads(eve, "explain attack="+one)), "has a card of its own since")
	require.NotContains(t, textOf(w.reads(eve, "explain attack="+single)), "Grouped")
}

func TestAStormIsExplainedAndReported(t *testing.T) {
	w := newWorld(t)
	storm := w.storeStorm(40, 12)
	about := textOf(w.reads(eve, "attack "+storm))
	for _, part := range []string{"12 of 40 NOT BLOCKED · high storm · Shop", "more than 10 new attacks came in 1 min, since", "at the earliest", "Cards of their own: 3 attacks from before it", "Behind that: 203.0.113.7 FR, in 12 of these and 12 of all", "By status: 28 blocked · 12 not blocked", "By type: 28 scanner · 12 SQL injection",
		"Gets through: ", "… and 4 more that get through", "attacks storm=" + storm} {
		require.Contains(t, about, part)
	}
	why := textOf(w.reads(eve, "explain attack="+storm))
	require.Contains(t, why, "Why one card: more than 10 new attacks came in 1 min")
	require.NotContains(t, why, "No route takes it")

	require.Contains(t, w.does(ann, "deny attack="+storm).Does, "Deny 198.51.100.23 everywhere for 4 h")
	report := w.document(storm)
	for _, part := range []string{"# Storm", "40 attacks on Shop, 12 of 40 NOT BLOCKED", "198.51.100.23", "is in 28 of 40 attacks", "Get through: 12", "Storm**: more than 10 new attacks", "Deny 198.51.100.23", "Still in place"} {
		require.Contains(t, report, part)
	}
	require.NotContains(t, report, "no longer lists it")
}

// A storm that goes on stands first wherever people look what burns; who takes over is on it, and not on each attack
// that it grouped.
func TestAStormIsShownFirst(t *testing.T) {
	w := newWorld(t)
	login := w.attackOn("/login")
	storm := w.storeStorm(40, 4)
	status := textOf(w.reads(eve, "status"))
	require.Contains(t, status, "4 of 40 NOT BLOCKED · high storm · Shop · 40 attacks, 40 still active · Unacknowledged · "+storm)
	require.Contains(t, status, "Unacknowledged")
	w.writes(ann, "ack attack="+storm, "Ann is on it")
	require.Contains(t, textOf(w.reads(eve, "status")), "Ann is on it since")
	summary := textOf(w.reads(eve, "summary"))
	require.Contains(t, summary, "high storm · Shop")
	w.writes(bob, "handover --all to=@me", "on 2 attacks of acme", storm)
	require.Equal(t, bob.ID, w.said(storm).Owner.ID)

	seen := w.seenStorm()
	w.shows(login, record.AttackState{StormID: seen.Attack.ID})
	status = textOf(w.reads(eve, "status"))
	require.Contains(t, status, "Going on: 1 storm\n", "what it groups isn't listed one by one")
	require.NotContains(t, status, login)

	seen.Storm.Ended, seen.Storm.Ongoing = w.clock(), 0
	w.polled(record.PollUpdate{Attacks: map[string]record.AttackState{
		seen.Attack.ID: {Attack: seen.Attack, Storm: &seen.Storm, ObservedAt: seen.SeenAt},
	}})
	require.NotContains(t, textOf(w.reads(eve, "status")), "storm", "it is over, and so are its attacks")
	require.Contains(t, textOf(w.reads(eve, "attacks storm="+storm)), "no new ones since", "its list stays")
}

func TestAStormIsNotPatched(t *testing.T) {
	w := newWorld(t)
	storm := w.storeStorm(40, 4)
	for _, line := range []string{"contain attack=" + storm, "patch attack=" + storm} {
		_, err := w.try(ann, line)
		require.Error(t, err, line)
	}
	require.Zero(t, w.changesSent())
}

func TestAdviceAboutAStorm(t *testing.T) {
	w := newWorld(t)
	storm := w.storeStorm(40, 4)
	seen := w.seenStorm()
	s := call.Situation{Account: w.cfg.Accounts[0], Policy: w.cfg.PolicyOf(w.cfg.Accounts[0]), ID: storm, Attack: seen.Attack, Storm: &seen.Storm, Now: w.clock(), ListsReadAt: w.clock()}
	offered := advice.Advise(s)
	require.Equal(t, []string{"Deny 203.0.113.7"}, labels(offered), "what is blocked needs no denial")
	require.Equal(t, "203.0.113.7 on all applications for 4 h, usually within 1 min. It is in all 4 that get through. Everyone behind this address is blocked. "+
		"Not allowlisted at 03:00 UTC; checked again when pressed.", offered.Suggestions[0].Confirm.String())
	require.Equal(t, "deny 203.0.113.7 account=acme attack="+storm+" for=4h", offered.Suggestions[0].Line.String())

	for name, c := range map[string]struct {
		change func(s *call.Situation, storm *record.Storm)
		labels []string
		note   string
	}{
		"own CDN": {func(s *call.Situation, _ *record.Storm) {
			s.Policy.Sources = func() []config.Source { return []config.Source{source("our CDN", "", "203.0.113.0/24")} }
		}, []string{}, "203.0.113.7 is our CDN: wafbot never denies it"},
		"allowlisted": {func(s *call.Situation, _ *record.Storm) {
			s.Entries = []apiclient.IPRule{{ID: 3, List: apiclient.ListAllow, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Apps: []int{apiclient.AllApps}}}
		}, []string{}, "is on the allowlist"},
		"denied, the next is offered": {func(s *call.Situation, storm *record.Storm) {
			s.Entries = []apiclient.IPRule{{ID: 3, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.7/32"), Apps: []int{apiclient.AllApps}}}
			storm.Behind = append(storm.Behind, record.StormSource{Source: apiclient.Source{IP: scanner}, In: 1, InAll: 36})
		}, []string{"Deny 198.51.100.23"}, "203.0.113.7 is denied already"},
		"IPv6": {func(_ *call.Situation, storm *record.Storm) {
			storm.Behind = []record.StormSource{{Source: apiclient.Source{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, In: 4, InAll: 4}}
		}, []string{"Deny top source"}, ""},
		"only watched":     {func(_ *call.Situation, storm *record.Storm) { storm.Apps = map[int64]int{7: 40} }, []string{}, "can block, so it would stop nothing"},
		"changes off":      {func(s *call.Situation, _ *record.Storm) { s.Policy.Changes = config.ChangesOff }, []string{}, "Changes are switched off"},
		"nothing through":  {func(_ *call.Situation, storm *record.Storm) { storm.Through, storm.Behind = nil, nil }, []string{}, ""},
		"no source listed": {func(_ *call.Situation, storm *record.Storm) { storm.Behind = nil }, []string{}, "No one deny stops this."},
		"one path": {func(s *call.Situation, storm *record.Storm) {
			storm.Source, storm.Behind, storm.Place, s.Attack.Type = netip.Addr{}, nil, "POST shop.example.com/login", "sqli"
		}, []string{}, "block-path POST shop.example.com/login for=30m blocks all requests, clean ones too · patch POST shop.example.com/login part=… type=sqli"},
	} {
		s, changed := s, seen.Storm
		s.Storm = &changed
		c.change(&s, &changed)
		advice := advice.Advise(s)
		require.Equal(t, c.labels, labels(advice), name)
		require.Contains(t, notes(advice), c.note, name)
	}
}
