package advice

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxSoFar is how many measures Standing tells of by themselves.
const maxSoFar = 4

// Standing says in few words which measures are in force and whether they work, the newest first; nothing where none is.
func Standing(s call.Situation) text.Text {
	var all []text.Text
	for _, ch := range s.Changes {
		if !ch.InForce(s.Now) || ch.Parent() != "" {
			continue
		}
		state := efficacy.Head(s, ch)
		switch {
		case ch.State == record.StateHalf:
			state = text.New(text.Bold("only partly done"))
		case len(state) == 0:
			state = text.New("accepted")
		}
		all = append(all, text.New(ch.Line.Name, " ", state))
	}
	if len(all) == 0 {
		return nil
	}
	line := text.New(text.Bold("Done so far, below:"), " ", describe.Joined(all[:min(maxSoFar, len(all))], " · "))
	if more := len(all) - maxSoFar; more > 0 {
		line = text.New(line, " · ", more, " more")
	}
	return line
}

// StillThrough says how many sources of the attack are not denied, while it goes on, gets through and something was denied; nothing else.
func StillThrough(s call.Situation, quiet bool) text.Text {
	status := s.Attack.Status()
	if quiet || s.Storm != nil || !s.Attack.SourceCount.Known || status != apiclient.StatusNotBlocked && status != apiclient.StatusPartly {
		return nil
	}
	denies, patching := false, false
	var targets []grammar.Target
	for _, c := range s.Changes {
		finding := s.Effects[c.ID].Finding
		if !c.InForce(s.Now) || finding == record.NotWorking || efficacy.Gone(s, c) {
			continue
		}
		for _, sub := range efficacy.ChangeSubjects(c) {
			switch {
			case sub.Elsewhere(s.Attack):
			case sub.Target != nil:
				denies, targets = true, append(targets, *sub.Target)
			case finding == record.NotYet && sub.Rule.Type == apiclient.RulePatch:
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
