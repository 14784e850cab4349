package efficacy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

var now = time.Date(2026, 11, 21, 3, 30, 0, 0, time.UTC)

func at(minute int) time.Time { return time.Date(2026, 11, 21, 3, minute, 0, 0, time.UTC) }

// top and other are the sources of each attack.
var top, other = netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.9")

// facts are those of an attack of two sources that was hit last at 03:20, where nothing was done.
func facts(change ...func(*call.Situation)) call.Situation {
	f := call.Situation{
		ID: "ak7q2m9xw", Account: &config.Account{Name: "acme", OngoingFor: 15 * time.Minute,
			Applications: map[int]config.Application{4: {Name: "Shop"}}}, Now: now, ListsReadAt: now,
		Attack: apiclient.Attack{
			ID: "x:1", Type: "sqli", App: apiclient.Known(4), Domain: "shop.example.com", Path: "/login", Method: "POST",
			Parameter: "POST_FORM_URLENCODED_login_value", First: at(0), Last: at(20),
			Hits: apiclient.Known(100), SourceCount: apiclient.Known(2), BlockStatus: "monitored",
			Sources: []apiclient.Source{{IP: top, Hits: apiclient.Known(60), Country: "FR"},
				{IP: other, Hits: apiclient.Known(40), Country: "NL"}},
		},
	}
	for _, c := range change {
		c(&f)
	}
	f.Others = efficacy.Others(f, 0)
	return f
}

func attack(change func(*apiclient.Attack)) func(*call.Situation) {
	return func(f *call.Situation) { change(&f.Attack) }
}
func status(s string) func(*call.Situation) {
	return attack(func(a *apiclient.Attack) { a.BlockStatus = s })
}
func incident(f *call.Situation) { f.Attack.VulnID = "812" }
func over(f *call.Situation)     { f.Quiet = true }
func pausing(f *call.Situation)  { f.Paused = true }
func inOutage(f *call.Situation) { f.Outage = record.Outage{From: at(11)} }
func oneSource(f *call.Situation) {
	a := &f.Attack
	a.Sources, a.SourceCount, a.Hits = a.Sources[:1], apiclient.Known(1), a.Sources[0].Hits
}

func judged(is string) func(*call.Situation) {
	return func(f *call.Situation) { f.Triage.Verdict = &record.Verdict{Is: is} }
}

// deny is an entry of another author, for all applications, made at 03:10.
func deny(kind string, values ...string) func(*call.Situation) {
	return listed(apiclient.ListDeny, kind, values)
}

func allow(kind string, values ...string) func(*call.Situation) {
	return listed(apiclient.ListAllow, kind, values)
}

func listed(list, kind string, values []string) func(*call.Situation) {
	return func(f *call.Situation) {
		e := apiclient.IPRule{ID: int64(len(f.Entries) + 1), List: list, Kind: kind, Values: values,
			Apps: []int{apiclient.AllApps}, Author: "rob", Created: at(10)}
		if kind == apiclient.KindRange {
			e.Subnet, e.Values = netip.MustParsePrefix(values[0]), nil
		}
		f.Entries = append(f.Entries, e)
	}
}

// patch is a rule of another author for the attack's place, made at 03:10.
func patch(f *call.Situation) {
	point, _ := apiclient.ParameterPoint(f.Attack.Parameter)
	conditions, err := apiclient.ScopeConditions(apiclient.Scope{App: apiclient.Known(4), Host: "shop.example.com",
		Path: "/login", Method: "POST"})
	if err != nil {
		panic(err)
	}
	f.Rules = append(f.Rules, apiclient.Rule{ID: 7, Type: apiclient.RulePatch, AttackType: "sqli", Point: point,
		Conditions: conditions, Updated: at(10)})
}

// ours is a denial of wafbot's for the attack, on an application.
func ours(app int) func(*call.Situation) {
	return func(f *call.Situation) {
		entry := &apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(top, 32),
			Reason: "wafbot c1", Apps: []int{app}}
		f.AccountChanges = []record.Change{{ID: "c1", AttackID: "ak7q2m9xw", State: record.StateDone, At: at(12),
			Steps: []record.Step{{Kind: record.AddEntry, Done: true, Entry: entry}}}}
		f.Entries = append(f.Entries, *entry)
	}
}

// stopped are tries of sources that were seen stopped until a minute.
func stopped(minute int, sources ...netip.Addr) func(*call.Situation) {
	return func(f *call.Situation) {
		s := &f.Stopped
		if s.Sources == nil {
			s.Sources = map[netip.Addr]record.Tally{}
		}
		for _, source := range sources {
			s.Sources[source] = record.Tally{N: 10, First: at(11), Last: at(minute)}
		}
	}
}

func patched(minute int) func(*call.Situation) {
	return func(f *call.Situation) { f.Stopped.Patched = record.Tally{N: 10, First: at(11), Last: at(minute)} }
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		facts call.Situation
		want  words.State
	}{
		"unreachable":                         {facts(inOutage), words.Unknown},
		"unreachable, and a verdict":          {facts(inOutage, judged("test")), words.Unknown},
		"unreachable, and it was over":        {facts(inOutage, over), words.Ended},
		"no blocking status":                  {facts(status("")), words.Unknown},
		"a status that wafbot doesn't know":   {facts(status("odd")), words.Unknown},
		"no blocking status, nothing through": {facts(status(""), pausing), words.Unknown},
		"a person says that it is none":       {facts(judged("false_positive")), words.FalsePositive},
		"the service says so": {facts(attack(func(a *apiclient.Attack) { a.State = "falsepositive" }),
			over), words.FalsePositive},
		"a test":                   {facts(judged("test"), over), words.Test},
		"real":                     {facts(judged("real")), words.NotBlocked},
		"over":                     {facts(over, status("blocked")), words.Ended},
		"blocked":                  {facts(status("blocked")), words.Blocked},
		"partly, says the service": {facts(status("Partially Blocked")), words.PartlyBlocked},
		"nothing done":             {facts(), words.NotBlocked},
		"silent, nothing done":     {facts(pausing), words.Quiet},
		"silent, partly":           {facts(pausing, status("Partially Blocked")), words.Quiet},
		"denied, nothing stopped":  {facts(deny(apiclient.KindRange, "203.0.113.7/32")), words.NotBlocked},
		"denied, works, the other gets through": {facts(deny(apiclient.KindRange, "203.0.113.7/32"), stopped(19, top)),
			words.PartlyBlocked},
		"denied, works, the other is silent": {facts(pausing, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(29, top)), words.Quiet},
		"denied, silent before anything is stopped": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(19, top)), words.Quiet},
		"the only one denied": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(29, top)), words.Mitigated},
		"the only one denied, a moment ago": {facts(oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(21, top)), words.PartlyBlocked},
		"denied by its country": {facts(pausing, oneSource, deny(apiclient.KindCountry, "FR"),
			stopped(29, top)), words.Mitigated},
		"denied by another country": {facts(pausing, oneSource, deny(apiclient.KindCountry, "NL"),
			stopped(29, top)), words.Quiet},
		"denied by a range": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.0/24"),
			stopped(29, top)), words.Mitigated},
		"denied as a proxy, seen stopped": {facts(pausing, oneSource, deny(apiclient.KindProxy, "TOR"),
			stopped(29, top)), words.Mitigated},
		"proxies are denied, not seen stopped": {facts(pausing, oneSource, deny(apiclient.KindProxy, "TOR"),
			patched(29)), words.Quiet},
		"denied on another application": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(29, top), func(f *call.Situation) {
				f.Entries[0].Apps = []int{5}
			}), words.Quiet},
		"wafbot denied it elsewhere": {facts(pausing, oneSource, stopped(29, top), ours(5)), words.Quiet},
		"wafbot denied it here":      {facts(pausing, oneSource, stopped(29, top), ours(4)), words.Mitigated},
		"both denied": {facts(pausing, deny(apiclient.KindCountry, "FR", "NL"), stopped(29, top)),
			words.Mitigated},
		"both denied, others aren't known": {facts(pausing, deny(apiclient.KindCountry, "FR", "NL"), stopped(29, top),
			attack(func(a *apiclient.Attack) { a.Hits = apiclient.Known(101) })), words.Quiet},
		"denied and allowlisted": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(29, top), allow(apiclient.KindRange, "203.0.113.0/24")), words.Quiet},
		"denied, allowlisted by country": {facts(pausing, oneSource, deny(apiclient.KindRange, "203.0.113.7/32"),
			stopped(29, top), allow(apiclient.KindCountry, "FR")), words.Quiet},
		"patched":                     {facts(pausing, patch, patched(29)), words.Mitigated},
		"patched, nothing stopped":    {facts(pausing, patch, stopped(29, top)), words.Quiet},
		"patched, a moment ago":       {facts(patch, patched(21)), words.PartlyBlocked},
		"patched, gets through again": {facts(patch, patched(12)), words.NotBlocked},
		"patched, and one is allowlisted": {facts(pausing, patch, patched(29),
			allow(apiclient.KindRange, "198.51.100.9/32")), words.Quiet},
		"patched elsewhere": {facts(pausing, patch, patched(29),
			attack(func(a *apiclient.Attack) { a.Path = "/other" })), words.Quiet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, efficacy.Headline(tt.facts).State)
			if tt.want == words.Mitigated {
				require.Equal(t, at(20), efficacy.Headline(tt.facts).Since)
			}
		})
	}
}

func TestWhatElseAHeadlineSays(t *testing.T) {
	t.Parallel()
	resumed := func(f *call.Situation) { f.ResumedAt = at(15) }
	worst := func(f *call.Situation) { f.Severity = record.SeverityCritical }
	for name, tt := range map[string]struct {
		facts call.Situation
		want  words.Headline
	}{
		"unreachable": {facts(inOutage, resumed),
			words.Headline{State: words.Unknown, Since: at(11), Was: words.NotBlocked, Resumed: at(15), Severity: "high"}},
		"no status": {facts(status("")), words.Headline{State: words.Unknown, Severity: "high"}},
		"over, an incident": {facts(over, incident, resumed),
			words.Headline{State: words.Ended, Since: at(20), Severity: "critical", Incident: true, Review: true}},
		"over, reviewed": {facts(over, incident, judged("real")),
			words.Headline{State: words.Ended, Since: at(20), Severity: "critical", Incident: true}},
		"resumed":            {facts(resumed), words.Headline{State: words.NotBlocked, Resumed: at(15), Severity: "high"}},
		"resumed, silent":    {facts(resumed, pausing), words.Headline{State: words.Quiet, Since: at(20), Severity: "high"}},
		"its worst":          {facts(worst, status("blocked")), words.Headline{State: words.Blocked, Severity: "critical"}},
		"blocked throughout": {facts(status("blocked")), words.Headline{State: words.Blocked, Severity: "low"}},
		"a test":             {facts(worst, judged("test")), words.Headline{State: words.Test, Severity: "low"}},
		"another type": {facts(attack(func(a *apiclient.Attack) { a.Type = "xss" })),
			words.Headline{State: words.NotBlocked, Severity: "medium"}},
		"a verdict, it works": {facts(worst, judged("real")), words.Headline{State: words.NotBlocked, Severity: "critical"}},
	} {
		require.Equal(t, tt.want, efficacy.Headline(tt.facts), name)
	}
}

// An incident's words ask for a review until there is a verdict, on lists as on its card.
func TestWordsOfAnIncident(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]call.Situation{
		"ENDED, REVIEW": facts(over, incident),
		"ENDED":         facts(over, incident, judged("real")),
		"STOPPED":       facts(pausing, incident, patch, patched(29)),
		"MITIGATED":     facts(pausing, incident, patch, patched(29), judged("real")),
		"NOT BLOCKED":   facts(incident),
	} {
		require.Equal(t, want, efficacy.Headline(f).Words())
	}
}

// What is in force is listed whoever did it, with what is seen of it.
func TestMitigations(t *testing.T) {
	t.Parallel()
	own := record.Change{
		ID: "c1", AttackID: "ak7q2m9xw", State: record.StateDone, At: at(12), Until: at(59),
		Actor: record.Actor{Name: "Anna"}, Does: "Deny 203.0.113.7 everywhere for 4h",
		Steps: []record.Step{{Kind: record.AddEntry, Done: true,
			Entry: &apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange,
				Subnet: netip.MustParsePrefix("203.0.113.7/32"), Reason: "wafbot c1", Apps: []int{0}}}},
	}
	byAnna := func(finding record.Finding, stopped int64) func(*call.Situation) {
		return func(f *call.Situation) {
			f.AccountChanges = []record.Change{own}
			f.Entries = append(f.Entries, *own.Steps[0].Entry)
			parts := map[string]record.Traffic{top.String(): {Stopped: record.Tally{N: stopped, Last: at(29)}}}
			f.Efficacy = map[string]record.Efficacy{"c1": {Finding: finding, Parts: parts}}
		}
	}
	for name, tt := range map[string]struct {
		facts call.Situation
		want  record.Mitigation
	}{
		"ours, sent": {facts(byAnna(record.NotYet, 0),
			func(f *call.Situation) { f.AccountChanges[0].At = at(28) }), record.Mitigation{Change: "c1", By: "Anna"}},
		"ours, not working": {facts(byAnna(record.NotWorking, 0)),
			record.Mitigation{Change: "c1", By: "Anna", Finding: record.NotWorking}},
		"ours, works, others don't": {facts(byAnna(record.Working, 1), stopped(19, top)),
			record.Mitigation{Change: "c1", By: "Anna", Finding: record.PartlyWorking, Stopped: 1, Others: 1}},
		"ours, works, nothing passes": {facts(byAnna(record.Working, 1), stopped(29, top), pausing),
			record.Mitigation{Change: "c1", By: "Anna", Finding: record.Working, Stopped: 1}},
		"theirs, sent": {facts(deny(apiclient.KindRange, "203.0.113.7/32"),
			func(f *call.Situation) { f.Entries[0].Created = at(28) }), record.Mitigation{By: "rob"}},
		"theirs, works": {facts(deny(apiclient.KindCountry, "FR"), stopped(29, top), pausing),
			record.Mitigation{Does: "Deny country:FR", By: "rob", Finding: record.Working, Stopped: 10}},
		"theirs, not the only source": {facts(deny(apiclient.KindCountry, "FR")),
			record.Mitigation{Does: "Deny country:FR", By: "rob", Finding: record.EfficacyUnknown}},
		"theirs, all get through": {facts(oneSource, deny(apiclient.KindCountry, "FR")),
			record.Mitigation{Does: "Deny country:FR", By: "rob", Finding: record.NotWorking}},
		"theirs, a patch": {facts(patch, patched(29), pausing),
			record.Mitigation{Does: "Patch POST shop.example.com/login, Shop only", Finding: record.Working, Stopped: 10}},
		"theirs, a patch, sent": {facts(patch),
			record.Mitigation{Does: "Patch POST shop.example.com/login, Shop only"}},
		"theirs, a patch, no longer": {facts(patch, patched(12)),
			record.Mitigation{Does: "Patch POST shop.example.com/login, Shop only", Finding: record.NotWorking, Stopped: 10}},
	} {
		all := efficacy.Mitigations(tt.facts)
		require.Len(t, all, 1, name)
		got := all[0]
		if tt.want.Does == "" {
			tt.want.Does = "Deny 203.0.113.7"
		}
		require.Equal(t, tt.want, record.Mitigation{Does: got.Does, Change: got.Change, By: got.By, Finding: got.Finding,
			Stopped: got.Stopped, Others: got.Others}, name)
	}
	require.Empty(t, efficacy.Mitigations(facts()))
	require.Empty(t, efficacy.Mitigations(facts(deny(apiclient.KindCountry, "DE"), allow(apiclient.KindCountry, "FR"))))
}

var three = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// statuses are how many attacks have which status.
type statuses = map[apiclient.Status]int

func TestAStormsHeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		storm record.Storm
		facts call.Situation
		want  words.Headline
		words string
	}{
		"not blocked": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, LastThrough: three,
				Severity: record.SeverityHigh},
			want: words.Headline{State: words.NotBlocked, Severity: record.SeverityHigh}, words: "4 of 800 NOT BLOCKED",
		},
		"not blocked, and partly": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4, apiclient.StatusPartly: 6},
				LastThrough: three, Severity: record.SeverityHigh},
			want: words.Headline{State: words.NotBlocked, Severity: record.SeverityHigh}, words: "10 of 800 NOT FULLY BLOCKED",
		},
		"partly": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusPartly: 6}, LastThrough: three,
				Severity: record.SeverityMedium},
			want: words.Headline{State: words.PartlyBlocked, Severity: record.SeverityMedium}, words: "6 of 800 PARTLY BLOCKED",
		},
		"the service says nothing": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusUnknown: 6}, LastThrough: three,
				Severity: record.SeverityMedium},
			want: words.Headline{State: words.Unknown, Severity: record.SeverityMedium}, words: "6 of 800 UNKNOWN",
		},
		"all blocked": {
			storm: record.Storm{Grouped: 800, Severity: record.SeverityLow},
			want:  words.Headline{State: words.Blocked, Severity: record.SeverityLow}, words: "BLOCKED",
		},
		"nothing gets through any more": {
			storm: record.Storm{Grouped: 800, LastThrough: three, Severity: record.SeverityHigh},
			want:  words.Headline{State: words.Quiet, Since: three, Severity: record.SeverityHigh}, words: "QUIET",
		},
		"no new ones, but active": { // it was called over beside 1,996 still active
			storm: record.Storm{Grouped: 2_000, Ongoing: 1_996, Ended: three, Through: statuses{apiclient.StatusNotBlocked: 1},
				LastThrough: three, Severity: record.SeverityHigh},
			want: words.Headline{State: words.NotBlocked, Severity: record.SeverityHigh}, words: "1 of 2,000 NOT BLOCKED",
		},
		"ended": {
			storm: record.Storm{Grouped: 800, Ended: three, Through: statuses{apiclient.StatusNotBlocked: 4},
				Severity: record.SeverityHigh}, facts: call.Situation{Quiet: true},
			want:  words.Headline{State: words.Ended, Since: three.Add(-time.Minute), Severity: record.SeverityHigh},
			words: "ENDED",
		},
		"all false positives": {
			storm: record.Storm{Grouped: 800, FalsePositives: 800, Severity: record.SeverityHigh},
			facts: call.Situation{Quiet: true},
			want:  words.Headline{State: words.FalsePositive, Severity: record.SeverityLow}, words: "FALSE POSITIVE",
		},
		"a test": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, Severity: record.SeverityHigh},
			facts: call.Situation{Triage: record.Triage{Verdict: &record.Verdict{Is: "test"}}},
			want:  words.Headline{State: words.Test, Severity: record.SeverityLow}, words: "TEST",
		},
		"unreachable": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, LastThrough: three,
				Severity: record.SeverityHigh}, facts: call.Situation{Outage: record.Outage{From: three}},
			want:  words.Headline{State: words.Unknown, Since: three, Was: words.NotBlocked, Severity: record.SeverityHigh},
			words: "UNKNOWN",
		},
	} {
		tt.facts.Attack, tt.facts.Storm = apiclient.Attack{Last: three.Add(-time.Minute)}, &tt.storm
		got := efficacy.Headline(tt.facts)
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.words, words.StormState(got.State, tt.storm), name)
	}
}

// Whatever gets through, and only that, is said to.
func TestAStormsHeadlineIsTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := record.Storm{Grouped: 900, Through: statuses{}}
		for _, status := range []apiclient.Status{apiclient.StatusNotBlocked, apiclient.StatusPartly} {
			if n := rapid.IntRange(0, 300).Draw(rt, string(status)); n > 0 {
				s.Through[status], s.LastThrough = n, three
			}
		}
		h := efficacy.Headline(call.Situation{Storm: &s})
		through := s.Passing() > 0
		require.Equal(rt, through, h.State == words.NotBlocked || h.State == words.PartlyBlocked)
		require.Equal(rt, !through, h.State == words.Blocked, "nothing was seen through ever")
		require.Equal(rt, s.Through[apiclient.StatusNotBlocked] > 0, h.State == words.NotBlocked)
	})
}
