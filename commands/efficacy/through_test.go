package efficacy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hits are an attack's sources 198.51.100.1, .2, … with so many hits each; listed is how many of them the service lists.
func hits(listed int, n ...int64) apiclient.Attack {
	a := apiclient.Attack{ID: "x:1", Type: "sqli", App: apiclient.Known(4), BlockStatus: "monitored", SourceCount: apiclient.Known(int64(len(n))), First: noon, Last: noon.Add(9 * time.Minute)}
	for i, hits := range n[:listed] {
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
		finding record.Finding
		want    []string // SOURCE's last number, and its hits since
		since   time.Time
	}{
		"nothing was done":                {now: hits(3, 10, 60, 30), want: []string{"2: 60", "3: 30", "1: 10"}},
		"denied, the others go on":        {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(3, 55, 44, 10)), want: []string{"3: 30", "2: 1"}, since: noon},
		"a denial that doesn't work":      {now: hits(2, 80, 45), changes: denial("198.51.100.1/32", hits(2, 55, 44)), finding: record.NotWorking, want: []string{"1: 25", "2: 1"}, since: noon},
		"one that was not there":          {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(2, 55, 44)), want: []string{"3: 40", "2: 1"}, since: noon},
		"one that was not listed":         {now: hits(3, 60, 45, 40), changes: denial("198.51.100.1/32", hits(2, 55, 30, 20)), want: []string{"2: 15", "3: 10"}, since: noon},
		"a range that covers all of them": {now: hits(3, 60, 45, 40), changes: denial("198.51.100.0/24", hits(3, 55, 44, 10)), since: noon},
	} {
		s := call.Situation{
			ID: "a1", Account: &call.Account{OngoingFor: 15 * time.Minute}, Attack: tt.now, Changes: tt.changes, AccountChanges: tt.changes, Now: noon.Add(10 * time.Minute),
			Efficacy: map[string]record.Efficacy{"c1": {Finding: tt.finding}},
		}
		sources, since := efficacy.Through(s)
		var got []string
		for _, source := range sources {
			got = append(got, source.IP.String()[len("198.51.100."):]+": "+source.Hits.String())
		}
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.since, since, name)
	}
}
