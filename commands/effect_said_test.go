package commands_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// atFour is when the tests of what a card says look at it.
var atFour = time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)

// entryFor is an entry of a list for a source, until five.
func entryFor(list, subnet string, apps ...int) apiclient.IPRule {
	return apiclient.IPRule{List: list, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(subnet), Apps: apps, Expires: atFour.Add(time.Hour)}
}

// deniedBy is a change of half an hour ago that made these entries.
func deniedBy(entries ...apiclient.IPRule) record.Change {
	ch := record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: atFour.Add(-30 * time.Minute), Until: atFour.Add(time.Hour), When: "in about 1 min"}
	for _, e := range entries {
		ch.Steps = append(ch.Steps, record.Step{Kind: record.AddEntry, Entry: &e, Sent: true, Done: true, ID: 101})
	}
	return ch
}

// said is a card's line of what was seen of a change at an attack on Shop, whose entries stand at the service.
func said(ch record.Change, e record.Efficacy, change func(s *call.Situation)) string {
	s := call.Situation{
		Account: &config.Account{Name: "acme", Applications: map[int]config.Application{4: {Name: "Shop"}, 7: {Name: "Legacy"}}, OngoingFor: 15 * time.Minute},
		Now:     atFour, ListsReadAt: atFour, Changes: []record.Change{ch}, Efficacy: map[string]record.Efficacy{ch.ID: e},
		Attack: apiclient.Attack{
			ID: "x:1", App: apiclient.Known(4), Domain: "shop.example.com", Path: "/login", Method: "POST", Type: "sqli", BlockStatus: "monitored",
			SourceCount: apiclient.Known(3), Sources: []apiclient.Source{share("203.0.113.7", 50), share("203.0.113.8", 40), share("203.0.113.9", 30)},
		},
	}
	for _, step := range ch.Steps {
		if step.Entry != nil {
			s.Entries = append(s.Entries, *step.Entry)
		} else {
			s.Rules = append(s.Rules, *step.Rule)
		}
	}
	change(&s)
	return words.Change(ch, efficacy.Line(s, ch)).String()
}

// seenOf is what was seen of one source.
func seenOf(f record.Finding, source string, t record.Traffic) record.Efficacy {
	return record.Efficacy{Finding: f, Parts: map[string]record.Traffic{source: t}}
}

func hitsUntil(n int64, last time.Duration) record.Tally {
	return record.Tally{N: n, First: atFour.Add(-20 * time.Minute), Last: atFour.Add(-last)}
}

// What the lists say about a mitigation stands beside what was seen of it: another user may have removed it, and a
// quiet source then proves nothing.
func TestWhatTheListsSayIsSaid(t *testing.T) {
	t.Parallel()
	const source = "203.0.113.7"
	here := deniedBy(entryFor(apiclient.ListDeny, source+"/32", apiclient.AllApps))
	there := deniedBy(entryFor(apiclient.ListDeny, source+"/32", 7))
	works := seenOf(record.Working, source, record.Traffic{Stopped: hitsUntil(10, 12*time.Minute)})
	off := func(s *call.Situation) { s.Entries = nil }

	require.Contains(t, said(here, works, func(*call.Situation) {}), "working: nothing through since")
	gone := said(here, works, off)
	require.Contains(t, gone, "no longer in force: it was removed or changed at the service")
	require.NotContains(t, gone, "working:")
	require.Contains(t, said(here, record.Efficacy{}, off), "no longer in force: it was removed or changed at the service", "also before it is judged")
	require.NotContains(t, said(here, works, func(s *call.Situation) { s.Entries, s.ListsReadAt = nil, time.Time{} }), "no longer", "it was not read")

	shortened := said(here, works, func(s *call.Situation) { s.Entries[0].Expires = atFour.Add(10 * time.Minute) })
	require.Contains(t, shortened, "shortened at the service: it ends 2026-11-20 04:10 UTC; working: nothing through since")

	allowed := func(s *call.Situation) {
		s.Entries = append(s.Entries, entryFor(apiclient.ListAllow, "203.0.113.0/24", apiclient.AllApps))
	}
	require.Contains(t, said(here, seenOf(record.EfficacyUnknown, source, record.Traffic{Mixed: hitsUntil(4, time.Minute)}), allowed), "Likely: 203.0.113.0/24 is on the allowlist")
	require.Contains(t, said(here, seenOf(record.EfficacyUnknown, source, record.Traffic{}), func(s *call.Situation) {
		conditions := []apiclient.Condition{{Type: "equal", Point: apiclient.Part{"instance"}, Value: "4"}}
		s.Rules = append(s.Rules, apiclient.Rule{ID: 9, Type: apiclient.RuleMode, Mode: apiclient.ModeOff, Conditions: conditions})
	}), "Likely: the mode of Shop is off: nothing is blocked there")

	elsewhere := said(there, record.Efficacy{Finding: record.EfficacyUnknown}, func(*call.Situation) {})
	require.Contains(t, elsewhere, "the entry is for other applications only than Shop")
	require.NotContains(t, elsewhere, "stopped or gone")
	require.NotContains(t, said(there, seenOf(record.NotWorking, source, record.Traffic{Through: hitsUntil(9, time.Minute)}), func(*call.Situation) {}),
		"other applications", "what got through there is no matter of this one")
}

// Of several sources each is said to be what it is.
func TestSeveralSourcesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	ch := deniedBy(entryFor(apiclient.ListDeny, "203.0.113.7/32", 0), entryFor(apiclient.ListDeny, "203.0.113.8/32", 0), entryFor(apiclient.ListDeny, "203.0.113.9/32", 0))
	plain := func(*call.Situation) {}
	through := record.Traffic{Stopped: hitsUntil(10, 12*time.Minute), Through: hitsUntil(5, time.Minute)}
	noLonger := said(ch, record.Efficacy{Finding: record.NotWorking, Parts: map[string]record.Traffic{"203.0.113.7": through, "203.0.113.8": through, "203.0.113.9": through}}, plain)
	require.Contains(t, noLonger, "NOT WORKING: stops 0 of 3 sources, gets through: 203.0.113.7, 203.0.113.8, 203.0.113.9")

	ch.Until = atFour.Add(-time.Minute)
	back := said(ch, record.Efficacy{Finding: record.SourceReturned, Parts: map[string]record.Traffic{
		"203.0.113.7": {Stopped: hitsUntil(10, 2*time.Minute)}, "203.0.113.8": {Stopped: hitsUntil(10, 3*time.Hour)},
	}}, plain)
	require.Contains(t, back, "203.0.113.7")
	require.NotContains(t, back, "203.0.113.8 ", "it was last heard of hours before")
	require.NotContains(t, back, "came back", "its source tried to the end: whether it came back was not seen")
}

// What tried to the end did not come back yet.
func TestStillTryingToTheEndIsNotComingBack(t *testing.T) {
	t.Parallel()
	ch := deniedBy(entryFor(apiclient.ListDeny, "203.0.113.7/32", 0))
	ch.Until = atFour
	plain := func(*call.Situation) {}
	stillTried := said(ch, seenOf(record.SourceReturned, "203.0.113.7", record.Traffic{Stopped: hitsUntil(10, time.Minute)}), plain)
	require.Contains(t, stillTried, "its source kept trying to the end, the last time")
	require.NotContains(t, stillTried, "came back")
	require.Contains(t, said(ch, seenOf(record.SourceReturned, "203.0.113.7", record.Traffic{After: hitsUntil(3, 0)}), plain), "its source came back: 3 hits got through since")
}

// A record that is blocked in another way lets nothing through for sure.
func TestBlockedInAnotherWay(t *testing.T) {
	t.Parallel()
	ch := deniedBy(entryFor(apiclient.ListDeny, "203.0.113.7/32", 0))
	line := said(ch, seenOf(record.EfficacyUnknown, "203.0.113.7", record.Traffic{Mixed: hitsUntil(4, time.Minute)}), func(s *call.Situation) { s.Attack.BlockStatus = "blocked" })
	require.Contains(t, line, "4 more hits in records that the service blocks in another way, in part or whole: whether any got through is unknown")
}

// Sampled counts fall and rise again: that is no new hit.
func TestCountsThatFallAndRiseAgainAreNoHits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.watcher()
	is := func(m int64) apiclient.Attack {
		own := int64(100)
		if m%2 == 1 {
			own = 80 // sampled, or not among the top for once
		}
		a := x.record("a", "monitored", 1000+m, share("203.0.113.7", own), share("198.51.100.4", 500+m))
		if m%4 == 3 {
			a.Sources = a.Sources[1:]
			a.SourceCount = apiclient.Known(1)
		}
		return a
	}
	x.grows(1, func(int64) apiclient.Attack { return is(0) })
	ch := w.does(ann, "deny 203.0.113.7")
	x.watch.Refresh()
	x.grows(20, is)
	require.Equal(t, record.EfficacyUnknown, x.effect(ch).Finding, "%+v", x.effect(ch))
	require.Empty(t, x.findings())
}

// After a restart what got through before isn't known.
func TestNothingThroughIsSaidSinceItWasWatched(t *testing.T) {
	t.Parallel()
	w, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(6 * time.Minute)}, "deny 203.0.113.7")
	x.watches(10 * time.Minute)
	require.Contains(t, x.line(ch), "working: nothing through since 2026-11-20 03:0")
	w.pass(10 * time.Minute)
	x.restart()
	x.observe()
	require.Contains(t, x.line(ch), "working: nothing through since 2026-11-20 03:20 UTC")
}

// A mode that another user set since is another one.
func TestAModeThatAnotherUserSetSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attack(waf.AttackSpec{})
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h")
	x.watch.Refresh()
	x.watches(20 * time.Minute)
	require.Contains(t, x.line(ch), "working")
	require.NoError(t, w.cfg.Services["acme"].DeleteRule(t.Context(), ch.Steps[0].ID)) // in the console
	x.watches(2 * time.Minute)
	require.Contains(t, x.line(ch), "no longer in force: it was removed or changed at the service")
	require.NotContains(t, x.line(ch), "working")
}

// A mode that wafbot set since took the place of another: no user was at the console.
func TestAModeThatWasReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{})
	x := w.watcher()
	ch := w.anyway(ann, "mode 4 block for=2h attack="+id)
	x.watch.Refresh()
	x.watches(20 * time.Minute)
	w.anyway(root, "mode 4 monitoring for=1h attack="+id)
	x.watches(2 * time.Minute)
	for where, line := range map[string]string{"card": x.line(ch), "attack": textOf(w.reads(eve, "attack "+id))} {
		require.Contains(t, line, "→ 2026-11-20 05:00 UTC · replaced by a later change", where)
	}
}

// What is typed says of what ended that it ended, as the card does.
func TestAttackSaysWhatEnded(t *testing.T) {
	t.Parallel()
	w, x, ch := watched(t, waf.AttackSpec{Lasts: waf.Duration(2 * time.Minute)}, "deny 203.0.113.7 for=30m")
	x.watches(35 * time.Minute)
	line := textOf(w.reads(ann, "attack "+ch.AttackID))
	require.Contains(t, line, "ended")
	require.NotContains(t, line, "nothing through since")
}

// What was removed in the console can be done again, by its button.
func TestWhatWasTakenOffIsOfferedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{})
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	w.pass(5 * time.Minute)
	require.NoError(t, w.cfg.Services["acme"].DeleteIPRules(t.Context(), ch.Steps[0].ID))
	w.service.CatchUp()
	s := call.Situation{Account: w.cfg.Accounts[0], Policy: w.cfg.PolicyOf(w.cfg.Accounts[0]), ID: id, Now: w.clock(), ListsReadAt: w.clock(), Changes: []record.Change{ch}}
	for page, err := range w.cfg.Services["acme"].Attacks(t.Context(), apiclient.AttackFilter{}) {
		require.NoError(t, err)
		s.Attack = page.Attacks[0]
		break
	}
	offered := func() (labels string) {
		for _, b := range advice.Advise(s).Suggestions {
			labels += b.Label + "; "
		}
		return labels
	}
	require.Contains(t, offered(), "Deny")
	again := w.does(ann, "deny 203.0.113.7 attack="+id)
	require.NotEqual(t, ch.ID, again.ID)
	require.Len(t, w.listed("black"), 1)
	s.Entries = []apiclient.IPRule{*again.Steps[0].Entry}
	require.NotContains(t, offered(), "Deny")
}
