package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// undoCreate deletes the rule that was made if it is still there and the same.
func (u *undoing) undoCreate(s record.Step) {
	id := efficacy.CurrentRule(u.Changes, s.ID)
	if s.Again { // what was made by the first try, whose answer never came, is ours too
		for i, r := range u.rules {
			if r.ID != id && apiclient.SameRule(r, *s.Rule) && !slices.Contains(s.Equal, r.ID) {
				u.add(record.Step{Kind: record.DeleteRule, Rule: &u.rules[i]})
			}
		}
	}
	i := slices.IndexFunc(u.rules, func(r apiclient.Rule) bool { return r.ID == id })
	switch {
	case i < 0:
		u.note("rule ", text.Code(fmt.Sprint(id)), " is gone already")
	case !apiclient.SameRule(u.rules[i], *s.Rule):
		u.note("somebody changed rule ", text.Code(fmt.Sprint(id)), " since: left as it is")
	default:
		u.add(record.Step{Kind: record.DeleteRule, Rule: &u.rules[i]})
	}
}

// undoDelete creates the rule again that was deleted, unless an equal one is there, or another was set in place of ours.
func (u *undoing) undoDelete(s record.Step) {
	var made []int64
	for _, m := range u.change.Steps {
		if m.Kind != record.CreateRule || !m.Done {
			continue
		}
		made = append(made, efficacy.CurrentRule(u.Changes, m.ID))
		if !ruleStands(u.Call, u.rules, m) {
			u.note("somebody took away or changed what wafbot had set, so the old rule is not put back")
			return
		}
	}
	old := ruleBefore(u.Call, s.Rule)
	if old == nil {
		return
	}
	equal := slices.DeleteFunc(efficacy.EqualRules(u.rules, *old), func(id int64) bool { return slices.Contains(made, id) })
	if len(equal) > 0 {
		u.note("a rule like the old one is there already: ", text.Code(strings.Trim(fmt.Sprint(equal), "[]")))
		return
	}
	u.add(record.Step{Kind: record.CreateRule, Rule: old})
}

// ruleStands reports whether the rule that a step made is still there and the same.
func ruleStands(c *call.Call, rules []apiclient.Rule, made record.Step) bool {
	id := efficacy.CurrentRule(c.Changes, made.ID)
	return slices.ContainsFunc(rules, func(r apiclient.Rule) bool { return r.ID == id && apiclient.SameRule(r, *made.Rule) })
}

// ruleBefore is the rule to put back for one that a change had replaced. Where wafbot itself had set that one, for a time that is over
// by now, it is the one before it: what was set for a time must not come back for good. Nil: there was none.
func ruleBefore(c *call.Call, rule *apiclient.Rule) *apiclient.Rule {
	makers := ChangesByRule(c)
	for range c.Changes {
		maker, ours := makers[efficacy.CurrentRule(c.Changes, rule.ID)]
		if !ours || maker.InForce(c.Now) {
			break
		}
		i := slices.IndexFunc(maker.Steps, func(s record.Step) bool { return s.Kind == record.DeleteRule })
		if i < 0 {
			return nil
		}
		rule = maker.Steps[i].Rule
	}
	return rule
}
