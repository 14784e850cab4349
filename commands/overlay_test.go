package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
)

func TestOverlay(t *testing.T) {
	t.Parallel()
	read := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	entry := func(id int64) apiclient.IPRule { return apiclient.IPRule{ID: id, List: "black"} }
	rule := func(id int64) apiclient.Rule { return apiclient.Rule{ID: id, Type: "service_mode"} }
	one, two, nine, oldRule, newRule := entry(1), entry(0), entry(9), rule(1), rule(0)
	denied := commands.Change{At: read.Add(time.Second), Steps: []commands.Step{{Kind: commands.AddEntry, Entry: &two, ID: 2, Done: true}}}
	undone := commands.Change{At: read.Add(2 * time.Second), Steps: []commands.Step{{Kind: commands.DeleteEntry, Entry: &apiclient.IPRule{ID: 2}, Done: true}}}
	switched := commands.Change{At: read, Steps: []commands.Step{
		{Kind: commands.CreateRule, Rule: &newRule, ID: 2, Done: true}, {Kind: commands.DeleteRule, Rule: &oldRule, Done: true},
	}}
	failed := commands.Change{At: read.Add(time.Second), Steps: []commands.Step{{Kind: commands.DeleteEntry, Entry: &one, Sent: true}}}
	long := commands.Change{At: read.Add(-time.Hour), Steps: []commands.Step{{Kind: commands.AddEntry, Entry: &nine, ID: 9, Done: true}}}

	for name, c := range map[string]struct {
		changes []commands.Change // the newest first
		entries []int64
		rules   []int64
	}{
		"nothing":                    {nil, []int64{1}, []int64{1}},
		"denied":                     {[]commands.Change{denied}, []int64{1, 2}, []int64{1}},
		"denied, then undone":        {[]commands.Change{undone, denied}, []int64{1}, []int64{1}},
		"mode switched":              {[]commands.Change{switched}, []int64{1}, []int64{2}},
		"not known to be done":       {[]commands.Change{failed}, []int64{1}, []int64{1}},
		"long before the reading":    {[]commands.Change{long}, []int64{1}, []int64{1}},
		"laid over twice, no double": {[]commands.Change{denied, denied}, []int64{1, 2}, []int64{1}},
	} {
		mirror, rules := []apiclient.IPRule{one}, []apiclient.Rule{oldRule}
		gotEntries, gotRules := commands.Overlay(mirror, rules, c.changes, read)
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
