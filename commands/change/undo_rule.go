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
func undoCreate(c *call.Call, p *call.Plan, s record.Step) error {
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return err
	}
	id := efficacy.CurrentRule(c.Changes, s.ID)
	if s.Again { // what was made by the first try, whose answer never came, is ours too
		for i, r := range rules {
			if r.ID != id && apiclient.SameRule(r, *s.Rule) && !slices.Contains(s.Equal, r.ID) {
				p.Steps = append(p.Steps, record.Step{Kind: record.DeleteRule, Rule: &rules[i]})
			}
		}
	}
	i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return r.ID == id })
	switch {
	case i < 0:
		p.Notes = append(p.Notes, text.New("rule ", text.Code(fmt.Sprint(id)), " is gone already"))
	case !apiclient.SameRule(rules[i], *s.Rule):
		p.Notes = append(p.Notes, text.New("somebody changed rule ", text.Code(fmt.Sprint(id)), " since: left as it is"))
	default:
		p.Steps = append(p.Steps, record.Step{Kind: record.DeleteRule, Rule: &rules[i]})
	}
	return nil
}

// undoDelete creates the rule again that was deleted, unless an equal one is there, or another was set in place of ours.
func undoDelete(c *call.Call, p *call.Plan, ch record.Change, s record.Step) error {
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return err
	}
	var made []int64
	for _, m := range ch.Steps {
		if m.Kind != record.CreateRule || !m.Done {
			continue
		}
		made = append(made, efficacy.CurrentRule(c.Changes, m.ID))
		if !ruleStands(c, rules, m) {
			p.Notes = append(p.Notes, text.New("somebody took away or changed what wafbot had set, so the old rule is not put back"))
			return nil
		}
	}
	old := before(c, s.Rule)
	if old == nil {
		return nil
	}
	equal := slices.DeleteFunc(efficacy.EqualRules(rules, *old), func(id int64) bool { return slices.Contains(made, id) })
	if len(equal) > 0 {
		p.Notes = append(p.Notes, text.New("a rule like the old one is there already: ", text.Code(strings.Trim(fmt.Sprint(equal), "[]"))))
		return nil
	}
	p.Steps = append(p.Steps, record.Step{Kind: record.CreateRule, Rule: old})
	return nil
}

// ruleStands reports whether the rule that a step made is still there and the same.
func ruleStands(c *call.Call, rules []apiclient.Rule, made record.Step) bool {
	id := efficacy.CurrentRule(c.Changes, made.ID)
	return slices.ContainsFunc(rules, func(r apiclient.Rule) bool { return r.ID == id && apiclient.SameRule(r, *made.Rule) })
}

// before is the rule to put back for one that a change had replaced. Where wafbot itself had set that one, for a time that is over
// by now, it is the one before it: what was set for a time must not come back for good. Nil: there was none.
func before(c *call.Call, rule *apiclient.Rule) *apiclient.Rule {
	for range c.Changes {
		i := slices.IndexFunc(c.Changes, func(ch record.Change) bool { return ch.Undoes == "" && made(c, ch, rule.ID) })
		if i < 0 || c.Changes[i].InForce(c.Now) {
			break
		}
		j := slices.IndexFunc(c.Changes[i].Steps, func(s record.Step) bool { return s.Kind == record.DeleteRule })
		if j < 0 {
			return nil
		}
		rule = c.Changes[i].Steps[j].Rule
	}
	return rule
}

// made reports whether a change made the rule, or the one that the rule was put back for.
func made(c *call.Call, ch record.Change, id int64) bool {
	return slices.ContainsFunc(ch.Steps, func(s record.Step) bool {
		return s.Kind == record.CreateRule && s.Done && efficacy.CurrentRule(c.Changes, s.ID) == efficacy.CurrentRule(c.Changes, id)
	})
}
