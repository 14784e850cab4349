package efficacy

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// StillThrough says how many sources of the attack are not denied, while it goes on, gets through and something was denied; nothing else.
func StillThrough(s call.Situation, quiet bool) text.Text {
	status := s.Attack.Status()
	if quiet || s.Storm != nil || !s.Attack.SourceCount.Known || status != apiclient.StatusNotBlocked && status != apiclient.StatusPartly {
		return nil
	}
	denies, patching := false, false
	var targets []grammar.Target
	for _, c := range s.Changes {
		finding := s.Efficacy[c.ID].Finding
		if !c.InForce(s.Now) || finding == record.NotWorking || Gone(s, c) {
			continue
		}
		for _, sub := range subjectsOf(c) {
			switch {
			case sub.elsewhere(s.Attack):
			case sub.target != nil:
				denies, targets = true, append(targets, *sub.target)
			case finding == record.NotYet && sub.rule.Type == apiclient.RulePatch:
				patching = true
			default:
				return nil // the rule is for all sources
			}
		}
	}
	others := s.Attack.SourceCount.N
	for _, source := range s.Attack.Sources {
		if slices.ContainsFunc(targets, func(t grammar.Target) bool { return t.Holds(source) }) {
			others--
		}
	}
	if !denies || others <= 0 {
		return nil
	}
	line := text.New("Still through: up to ", text.Number(others), text.Plural(others, " other source"))
	if patching {
		return text.New(line, ", until the patch is live")
	}
	return line
}
