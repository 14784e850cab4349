package commands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
)

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
