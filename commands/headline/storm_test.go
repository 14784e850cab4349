package headline_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/headline"
	"github.com/wafbot/wafbot/internal/record"
)

var three = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// statuses are how many attacks have which status.
type statuses = map[apiclient.Status]int

func TestAStormsHeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		storm record.Storm
		facts call.Situation
		want  headline.Headline
		words string
	}{
		"not blocked": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, LastThrough: three, Severity: record.SeverityHigh},
			want:  headline.Headline{State: headline.NotBlocked, Severity: record.SeverityHigh}, words: "4 of 800 NOT BLOCKED",
		},
		"not blocked, and partly": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4, apiclient.StatusPartly: 6}, LastThrough: three, Severity: record.SeverityHigh},
			want:  headline.Headline{State: headline.NotBlocked, Severity: record.SeverityHigh}, words: "10 of 800 NOT FULLY BLOCKED",
		},
		"partly": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusPartly: 6}, LastThrough: three, Severity: record.SeverityMedium},
			want:  headline.Headline{State: headline.PartlyBlocked, Severity: record.SeverityMedium}, words: "6 of 800 PARTLY BLOCKED",
		},
		"the service says nothing": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusUnknown: 6}, LastThrough: three, Severity: record.SeverityMedium},
			want:  headline.Headline{State: headline.Unknown, Severity: record.SeverityMedium}, words: "6 of 800 UNKNOWN",
		},
		"all blocked": {
			storm: record.Storm{Grouped: 800, Severity: record.SeverityLow},
			want:  headline.Headline{State: headline.Blocked, Severity: record.SeverityLow}, words: "BLOCKED",
		},
		"nothing gets through any more": {
			storm: record.Storm{Grouped: 800, LastThrough: three, Severity: record.SeverityHigh},
			want:  headline.Headline{State: headline.Quiet, Since: three, Severity: record.SeverityHigh}, words: "QUIET",
		},
		"no new ones, but active": { // it was called over beside 1,996 still active
			storm: record.Storm{Grouped: 2_000, Ongoing: 1_996, Ended: three, Through: statuses{apiclient.StatusNotBlocked: 1}, LastThrough: three, Severity: record.SeverityHigh},
			want:  headline.Headline{State: headline.NotBlocked, Severity: record.SeverityHigh}, words: "1 of 2,000 NOT BLOCKED",
		},
		"ended": {
			storm: record.Storm{Grouped: 800, Ended: three, Through: statuses{apiclient.StatusNotBlocked: 4}, Severity: record.SeverityHigh}, facts: call.Situation{Quiet: true},
			want: headline.Headline{State: headline.Ended, Since: three.Add(-time.Minute), Severity: record.SeverityHigh}, words: "ENDED",
		},
		"all false positives": {
			storm: record.Storm{Grouped: 800, FalsePositives: 800, Severity: record.SeverityHigh}, facts: call.Situation{Quiet: true},
			want: headline.Headline{State: headline.FalsePositive, Severity: record.SeverityLow}, words: "FALSE POSITIVE",
		},
		"a test": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, Severity: record.SeverityHigh},
			facts: call.Situation{Triage: record.Triage{Verdict: &record.Verdict{Is: "test"}}},
			want:  headline.Headline{State: headline.Test, Severity: record.SeverityLow}, words: "TEST",
		},
		"unreachable": {
			storm: record.Storm{Grouped: 800, Through: statuses{apiclient.StatusNotBlocked: 4}, LastThrough: three, Severity: record.SeverityHigh}, facts: call.Situation{Outage: record.Outage{From: three}},
			want: headline.Headline{State: headline.Unknown, Since: three, Was: headline.NotBlocked, Severity: record.SeverityHigh}, words: "UNKNOWN",
		},
	} {
		tt.facts.Attack, tt.facts.Storm = apiclient.Attack{Last: three.Add(-time.Minute)}, &tt.storm
		got := headline.Of(tt.facts)
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.words, headline.StormState(got.State, tt.storm), name)
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
		h := headline.Of(call.Situation{Storm: &s})
		through := s.Passing() > 0
		require.Equal(rt, through, h.State == headline.NotBlocked || h.State == headline.PartlyBlocked)
		require.Equal(rt, !through, h.State == headline.Blocked, "nothing was seen through ever")
		require.Equal(rt, s.Through[apiclient.StatusNotBlocked] > 0, h.State == headline.NotBlocked)
	})
}
