package verb

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func planDeleteRule(c *call.Call) ([]call.Plan, error) {
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return fmt.Sprint(r.ID) == typed })
	if i < 0 {
		return nil, refusal.Nothing("there is no rule `%v`: `rules` lists them", typed)
	}
	rule := rules[i]
	if err := deletable(rule); err != nil {
		return nil, err
	}
	made, ours := change.ChangesByRule(c)[rule.ID]
	p := call.Plan{
		Line: change.About(c, record.Line{Name: "delete-rule", Words: []string{typed}}),
		Does: fmt.Sprintf("Delete rule %s: %s", typed, words.Rule(c.Account, rule)), When: words.RuleWorks,
		Steps: []record.Step{{Kind: record.DeleteRule, Rule: &rule}},
	}
	if !ours {
		p.Warnings.Addf("%v: %v", origin(c, rule.ID), words.RuleRow(c.Account, rule, made))
	}
	if words := modeAfter(c.Account, slices.Delete(slices.Clone(rules), i, i+1), rule); words != nil {
		if ours {
			words.Addf(". `undo %v` instead puts back what stood before", made.ID)
		}
		p.Warnings.Addf("%v", words)
	}
	return []call.Plan{p}, nil
}

// origin says of a rule that no change made which stands now where it comes from.
func origin(c *call.Call, id int64) text.Text {
	for _, ch := range c.Changes {
		put := func(s record.Step) bool {
			return s.Kind == record.CreateRule && s.Done && efficacy.CurrentRule(c.Changes, s.ID) == id
		}
		if ch.Undoes != "" && slices.ContainsFunc(ch.Steps, put) {
			return text.Newf("wafbot put this rule back as it was before `%v`", ch.Undoes)
		}
	}
	return text.New("wafbot did not make this rule")
}

// deletable refuses what is the service's own, and what could not be put back.
func deletable(r apiclient.Rule) error {
	switch {
	case r.System:
		return refusal.Guarded("rule `%v` is the service's own (%v): wafbot leaves it alone", r.ID, text.Field(r.Type))
	case !words.KnownKind(r) || !r.Point.Understood() || !apiclient.SameRule(r, r): // a rule with a condition that can't be read is like none, not even itself
		return refusal.Guarded("rule `%v` (%v) is of a kind that wafbot could not put back: delete it in the service's "+
			"console", r.ID, text.Field(r.Type))
	}
	return nil
}

// modeAfter says which mode holds when a rule that sets one is gone; nil for other rules.
func modeAfter(a *config.Account, left []apiclient.Rule, gone apiclient.Rule) text.Text {
	scope, ok := apiclient.ConditionsScope(gone.Conditions)
	if gone.Type != apiclient.RuleMode || len(gone.Conditions) > 0 && (!ok || !scope.App.Known) {
		return nil
	}
	app := int(scope.App.N) // without conditions 0, which is apiclient.AllApps
	return text.Newf("then the mode of %v by rules is *%v*",
		words.ModeApp(a, app), words.ModeName(words.ModeByRules(left, app)))
}
