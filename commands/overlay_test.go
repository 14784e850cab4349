package commands_test

import (
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
	entry := func(id int64) apiclient.IPRule { return apiclient.IPRule{ID: id, List: "black"} }
	rule := func(id int64) apiclient.Rule { return apiclient.Rule{ID: id, Type: "service_mode"} }
	one, two, nine, oldRule, newRule := entry(1), entry(0), entry(9), rule(1), rule(0)
	denied := record.Change{At: read.Add(time.Second), Steps: []record.Step{{Kind: record.AddEntry, Entry: &two, ID: 2, Done: true}}}
	undone := record.Change{At: read.Add(2 * time.Second), Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &apiclient.IPRule{ID: 2}, Done: true}}}
	switched := record.Change{At: read, Steps: []record.Step{
		{Kind: record.CreateRule, Rule: &newRule, ID: 2, Done: true}, {Kind: record.DeleteRule, Rule: &oldRule, Done: true},
	}}
	failed := record.Change{At: read.Add(time.Second), Steps: []record.Step{{Kind: record.DeleteEntry, Entry: &one, Sent: true}}}
	long := record.Change{At: read.Add(-time.Hour), Steps: []record.Step{{Kind: record.AddEntry, Entry: &nine, ID: 9, Done: true}}}

	for name, c := range map[string]struct {
		changes []record.Change // the newest first
		entries []int64
		rules   []int64
	}{
		"nothing":                    {nil, []int64{1}, []int64{1}},
		"denied":                     {[]record.Change{denied}, []int64{1, 2}, []int64{1}},
		"denied, then undone":        {[]record.Change{undone, denied}, []int64{1}, []int64{1}},
		"mode switched":              {[]record.Change{switched}, []int64{1}, []int64{2}},
		"not known to be done":       {[]record.Change{failed}, []int64{1}, []int64{1}},
		"long before the reading":    {[]record.Change{long}, []int64{1}, []int64{1}},
		"laid over twice, no double": {[]record.Change{denied, denied}, []int64{1, 2}, []int64{1}},
	} {
		mirror, rules := []apiclient.IPRule{one}, []apiclient.Rule{oldRule}
		gotEntries, gotRules := efficacy.Overlay(mirror, rules, c.changes, read)
		var entryIDs, ruleIDs []int64
		for _, e := range gotEntries {
			entryIDs = append(entryIDs, e.ID)
		}
		for _, r := range gotRules {
			ruleIDs = append(ruleIDs, r.ID)
		}
		require.Equal(t, c.entries, entryIDs, name)
		require.Equal(t, c.rules, ruleIDs, name)
		require.Equal(t, []apiclient.IPRule{entry(1)}, mirror, "%s: the mirror itself is left alone", name)
		require.Equal(t, []apiclient.Rule{rule(1)}, rules, "%s: the mirror itself is left alone", name)
	}
}
