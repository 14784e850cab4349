package efficacy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
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
