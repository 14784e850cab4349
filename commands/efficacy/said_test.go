package efficacy_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// atFour is when the tests look at the card.
var atFour = time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)

// share is a source with its hits, as a record lists it.
func share(ip string, hits int64) apiclient.Source {
	return apiclient.Source{IP: netip.MustParseAddr(ip), Hits: apiclient.Known(hits), Country: "FR"}
}

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

// said is the card's line about a change against an attack on Shop. The service lists the change's entries.
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

// Each of several sources is reported by its own finding.
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

// A source that tried to the end hasn't come back yet.
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

func TestOverlay(t *testing.T) {
	t.Parallel()
	read := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	entry := func(id int64, reason string, values ...string) apiclient.IPRule {
		return apiclient.IPRule{ID: id, List: "black", Kind: "country", Values: append([]string{"FR"}, values...), Reason: reason}
	}
	rule := func(id int64) *apiclient.Rule { return &apiclient.Rule{ID: id, Type: "service_mode"} }
	step := func(s record.Step, ago time.Duration) record.Change {
		s.Done, s.SentAt = true, read.Add(-ago)
		return record.Change{Steps: []record.Step{s}}
	}
	add := func(id int64, e apiclient.IPRule, before ...apiclient.IPRule) record.Step {
		e.ID = 0
		return record.Step{Kind: record.AddEntry, Entry: &e, ID: id, Before: before}
	}
	listed, ours, prolonged, expired := entry(1, "theirs"), entry(2, "ours"), entry(2, "ours"), entry(3, "over")
	prolonged.Expires, expired.Expires = read.Add(time.Hour), read
	denied, undone := step(add(2, ours), 10*time.Second), step(record.Step{Kind: record.DeleteEntry, Entry: &ours}, 5*time.Second)
	extended := step(add(2, prolonged, ours), 5*time.Second)
	switched := step(record.Step{Kind: record.CreateRule, Rule: rule(0), ID: 2}, time.Second)
	deleted := step(record.Step{Kind: record.DeleteRule, Rule: rule(1)}, time.Second)
	unknown := record.Change{Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &listed, Sent: true, SentAt: read}}}
	overwrote, both := step(add(1, ours, listed), time.Second), entry(1, "theirs", "DE")
	taken := step(add(2, ours, entry(1, "theirs")), time.Second)

	for name, c := range map[string]struct {
		listed  []apiclient.IPRule
		changes []record.Change // the newest first
		entries string
		rules   []int64
	}{
		"nothing":                             {[]apiclient.IPRule{listed}, nil, "1 theirs FR", []int64{1}},
		"denied":                              {[]apiclient.IPRule{listed}, []record.Change{denied}, "1 theirs FR, 2 ours FR", []int64{1}},
		"listed already":                      {[]apiclient.IPRule{ours}, []record.Change{denied, denied}, "2 ours FR", []int64{1}},
		"denied, then undone":                 {[]apiclient.IPRule{listed}, []record.Change{undone, denied}, "1 theirs FR", []int64{1}},
		"undone and still listed":             {[]apiclient.IPRule{ours}, []record.Change{undone, denied}, "", []int64{1}},
		"begun first, done last":              {nil, []record.Change{denied, undone}, "", []int64{1}},
		"prolonged, listed as before":         {[]apiclient.IPRule{ours}, []record.Change{extended}, "2 ours FR for 1h0m0s", []int64{1}},
		"prolonged, then listed so":           {[]apiclient.IPRule{prolonged}, []record.Change{extended, denied}, "2 ours FR for 1h0m0s", []int64{1}},
		"undone after others overwrote it":    {[]apiclient.IPRule{entry(2, "theirs")}, []record.Change{undone, denied}, "2 theirs FR", []int64{1}},
		"overwritten, listed as before":       {[]apiclient.IPRule{listed}, []record.Change{overwrote}, "1 ours FR", []int64{1}},
		"overwritten by others since":         {[]apiclient.IPRule{entry(1, "police")}, []record.Change{overwrote}, "1 police FR", []int64{1}},
		"one value taken from an entry":       {[]apiclient.IPRule{both}, []record.Change{taken}, "1 theirs DE, 2 ours FR", []int64{1}},
		"mode switched":                       {nil, []record.Change{deleted, switched}, "", []int64{2}},
		"not known to be done":                {[]apiclient.IPRule{listed}, []record.Change{unknown}, "1 theirs FR", []int64{1}},
		"so long ago that it would be listed": {nil, []record.Change{step(add(9, ours), 30*time.Second)}, "", []int64{1}},
		"expired meanwhile":                   {nil, []record.Change{step(add(3, expired), time.Second)}, "", []int64{1}},
	} {
		mirror, rules := append([]apiclient.IPRule(nil), c.listed...), []apiclient.Rule{*rule(1)}
		gotEntries, gotRules := efficacy.Overlay(mirror, rules, c.changes, read)
		var entries []string
		for _, e := range gotEntries {
			words := fmt.Sprintf("%d %s %s", e.ID, e.Reason, strings.Join(e.Values, ","))
			if !e.Expires.IsZero() {
				words += " for " + e.Expires.Sub(read).String()
			}
			entries = append(entries, words)
		}
		var ruleIDs []int64
		for _, r := range gotRules {
			ruleIDs = append(ruleIDs, r.ID)
		}
		require.Equal(t, c.entries, strings.Join(entries, ", "), name)
		require.Equal(t, c.rules, ruleIDs, name)
		require.Equal(t, c.listed, mirror, "%s: the mirror itself is left alone", name)
		require.Equal(t, []apiclient.Rule{*rule(1)}, rules, "%s: the mirror itself is left alone", name)
	}
}
