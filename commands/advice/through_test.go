package advice_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hits are an attack's sources 198.51.100.1, .2, … with so many hits each; listed is how many of them the service
// lists.
func hits(listed int, n ...int64) apiclient.Attack {
	a := apiclient.Attack{ID: "x:1", Type: "sqli", App: apiclient.Known(4), BlockStatus: "monitored", Hits: apiclient.Known(0), SourceCount: apiclient.Known(int64(len(n))), First: noon, Last: noon.Add(9 * time.Minute)}
	for i, hits := range n {
		a.Hits.N += hits
		if i >= listed {
			continue
		}
		a.Sources = append(a.Sources, apiclient.Source{IP: netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)}), Hits: apiclient.Known(hits)})
	}
	return a
}

// After a denial the next source is the one with the most hits since, and not the one with the most of all.
func TestWhatGetsThroughSince(t *testing.T) {
	t.Parallel()
	denial := func(source string, before apiclient.Attack) []record.Change {
		entry := &apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(source), Apps: []int{apiclient.AllApps}}
		return []record.Change{{
			ID: "c1", AttackID: "a1", State: record.StateDone, At: noon.Add(time.Minute), Observed: &record.Observation{At: noon, Attack: before},
			Steps: []record.Step{{Kind: record.AddEntry, Done: true, Entry: entry}},
		}}
	}
	for name, tt := range map[string]struct {
		now     apiclient.Attack
		changes []record.Change
		want    string // the next source's last number, its hits since, and of how many
	}{
		"nothing was done":                {now: hits(3, 10, 60, 30), want: "2: 60 of 100"},
		"denied, the others go on":        {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(3, 55, 44, 10)), want: "3: 30 of 31"},
		"one that was not there":          {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(2, 55, 44)), want: "3: 40 of 41"},
		"one that was not listed":         {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(2, 55, 30, 20)), want: "2: 15 of 35"},
		"a range that covers all of them": {now: hits(3, 60, 45, 40), changes: denial("198.51.100.0/24", hits(3, 55, 44, 10)), want: "none"},
	} {
		s := call.Situation{
			ID: "a1", Account: &config.Account{OngoingFor: 15 * time.Minute}, Attack: tt.now, Changes: tt.changes, AccountChanges: tt.changes, Now: noon.Add(10 * time.Minute),
		}
		got := "none"
		if leak, ok := advice.Through(s); ok {
			got = leak.Source.IP.String()[len("198.51.100."):] + ": " + leak.Source.Hits.String() + " of " + leak.Of.String()
		}
		require.Equal(t, tt.want, got, name)
	}
}

// A patch that others made is enough while it is seen to stop all: a denial or a mode would add nothing.
func TestNothingIsOfferedBesideAPatchOfOthersThatWorks(t *testing.T) {
	t.Parallel()
	a := hits(2, 60, 40)
	a.Domain, a.Path, a.Method, a.Parameter = "shop.example.com", "/login", "POST", "POST_FORM_URLENCODED_login_value"
	point, _ := apiclient.ParameterPoint(a.Parameter)
	conditions, err := apiclient.ScopeConditions(apiclient.Scope{App: a.App, Host: a.Domain, Path: a.Path, Method: a.Method})
	require.NoError(t, err)
	s := call.Situation{
		ID: "a1", Account: &config.Account{OngoingFor: 15 * time.Minute}, Attack: a, Now: noon.Add(11 * time.Minute), ListsReadAt: noon,
		Rules: []apiclient.Rule{{ID: 7, Type: apiclient.RulePatch, AttackType: a.Type, Point: point, Conditions: conditions, Updated: noon}},
	}
	s.Others = efficacy.Others(s, 0)
	require.NotEmpty(t, advice.Advise(s).Suggestions, "it isn't seen to stop anything yet")
	s.Stopped.Patched = record.Tally{N: 10, First: noon.Add(time.Minute), Last: noon.Add(10 * time.Minute)}
	s.Others = efficacy.Others(s, 0)
	require.Empty(t, advice.Advise(s).Suggestions)
}

// What gets through is listed.
func TestTheButtonThatShowsWhatGetsThrough(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "List it: attacks", 4: "List the 4: attacks", 877: "List the 877: attacks"} {
		s := call.Situation{Account: &config.Account{Name: "acme"}, Storm: &record.Storm{UnblockedCount: n, Through: map[apiclient.Status]int{apiclient.StatusNotBlocked: n}}}
		shown := ""
		for _, b := range advice.ShowUnblocked(s) {
			shown += b.Label + ": " + b.Line.Name
		}
		require.Equal(t, want, shown)
	}
}
