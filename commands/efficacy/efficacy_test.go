package efficacy

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minute(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }

func tally(n int64, first, last int) record.Tally {
	return record.Tally{N: n, First: minute(first), Last: minute(last)}
}

// What was seen of a source, or a rule, that was dealt with at noon, and what that means then.
func TestTheJudgement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seen record.Traffic
		now  int
		want record.Finding
	}{
		"nothing yet":                            {record.Traffic{}, 2, record.NotYet},
		"nothing for long":                       {record.Traffic{}, 4, record.EfficacyUnknown},
		"stopped at once":                        {record.Traffic{Stopped: tally(1, 1, 1)}, 1, record.Working},
		"a hit in the second of the last stop":   {record.Traffic{Stopped: tally(9, 1, 2), Through: record.Tally{Last: minute(2)}}, 2, record.NotYet},
		"let through before it was to work":      {record.Traffic{Stopped: tally(1, 2, 2), Through: record.Tally{Last: minute(1)}}, 2, record.Working},
		"let through a while ago, then stopped":  {record.Traffic{Stopped: tally(9, 1, 10), Through: tally(3, 4, 5)}, 11, record.Working},
		"let through, then one stopped":          {record.Traffic{Stopped: tally(1, 14, 14), Through: tally(23, 11, 13)}, 14, record.PartlyWorking},
		"let through and stopped":                {record.Traffic{Stopped: tally(1, 14, 14), Through: tally(23, 11, 15)}, 15, record.PartlyWorking},
		"let through again for a while":          {record.Traffic{Stopped: tally(9, 1, 4), Through: tally(3, 8, 10)}, 10, record.NotWorking},
		"let through, but not well after it":     {record.Traffic{Through: tally(5, 3, 5)}, 5, record.NotYet},
		"let through well after it":              {record.Traffic{Through: tally(5, 3, 6)}, 6, record.NotWorking},
		"blocked by something else":              {record.Traffic{Mixed: tally(5, 3, 6)}, 9, record.EfficacyUnknown},
		"stopped, the rest by something else":    {record.Traffic{Stopped: tally(5, 3, 6), Mixed: tally(5, 3, 6)}, 9, record.PartlyWorking},
		"stopped, and only something else since": {record.Traffic{Stopped: tally(5, 3, 6), Mixed: tally(5, 3, 20)}, 20, record.PartlyWorking},
	} {
		require.Equal(t, c.want, judge{}.part(c.seen, noon, entryDelays, minute(c.now)), name)
	}
	require.Equal(t, record.Working, judge{60}.part(record.Traffic{Stopped: tally(9, 0, 0), Through: record.Tally{Last: noon.Add(time.Second)}}, noon, ruleDelays, noon.Add(7*time.Second)),
		"where the service is sixty times faster")
}

// What others have in force is judged by the attack's own tally, with the same rule: two sources, hit last at minute
// 10.
func TestWhatOthersHaveInForce(t *testing.T) {
	t.Parallel()
	top, other := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	both := []string{"203.0.113.0/24"}
	one := []string{"203.0.113.7/32"}
	for name, c := range map[string]struct {
		denied  []string
		made    int
		stopped map[netip.Addr]record.Tally
		status  string
		now     int
		want    record.Finding
		hits    int64
	}{
		"just made":                             {both, 9, nil, "monitored", 11, record.NotYet, 0},
		"made a while ago, and hits":            {both, 0, nil, "monitored", 11, record.NotWorking, 0},
		"a hit after it was to work, too early": {both, 6, nil, "monitored", 11, record.NotYet, 0},
		"one of two sources, nothing seen":      {one, 0, nil, "monitored", 11, record.EfficacyUnknown, 0},
		"one of two sources, stopped":           {one, 0, map[netip.Addr]record.Tally{top: tally(5, 2, 5)}, "monitored", 11, record.Working, 5},
		"stopped since the last hit":            {both, 0, map[netip.Addr]record.Tally{top: tally(5, 2, 11), other: tally(2, 3, 4)}, "monitored", 11, record.Working, 7},
		"a hit since the last stop":             {both, 0, map[netip.Addr]record.Tally{top: tally(5, 2, 8)}, "monitored", 11, record.PartlyWorking, 5},
		"hits long since the last stop":         {both, 0, map[netip.Addr]record.Tally{top: tally(5, 2, 4)}, "monitored", 11, record.NotWorking, 5},
		"blocked long since the last stop":      {both, 0, map[netip.Addr]record.Tally{top: tally(5, 2, 4)}, "blocked", 11, record.PartlyWorking, 5},
		"stopped before it was made":            {both, 6, map[netip.Addr]record.Tally{top: tally(5, 2, 5)}, "blocked", 11, record.EfficacyUnknown, 0},
		"stopped before and since":              {both, 6, map[netip.Addr]record.Tally{top: tally(5, 2, 11)}, "blocked", 11, record.Working, 1},
	} {
		s := call.Situation{Account: &config.Account{}, Now: minute(c.now), Attack: apiclient.Attack{
			ID: "x:1", App: apiclient.Known(4), First: minute(-5), Last: minute(10), BlockStatus: c.status, SourceCount: apiclient.Known(2),
			Sources: []apiclient.Source{{IP: top}, {IP: other}},
		}}
		s.Stopped.Sources = c.stopped
		for _, subnet := range c.denied {
			s.Entries = append(s.Entries, apiclient.IPRule{
				ID: 9, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(subnet), Apps: []int{apiclient.AllApps}, Created: minute(c.made),
			})
		}
		got := Others(s, 0)
		require.Len(t, got, 1, name)
		require.Equal(t, []any{c.want, c.hits}, []any{got[0].Finding, got[0].Stopped}, name)

		s.Others = got
		require.Len(t, Mitigations(s), 1, name)
		s.AccountChanges = []record.Change{{Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &apiclient.IPRule{ID: 9}, Done: true}}}}
		require.Empty(t, Mitigations(s), "wafbot has deleted it since it was judged")
	}
}
