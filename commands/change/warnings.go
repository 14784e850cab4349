package change

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// warnShared warns of targets that a source of the configuration names or that many people likely share, and of broad ones, where wafbot can't know it: unless approval is
// needed, whose request says it.
// Of a narrow range it is only said afterwards.
func warnShared(c *call.Call, p *call.Plan, targets []grammar.Target) {
	second := c.Policy.RequiredFor
	for _, t := range targets {
		for _, s := range c.PolicyNow().Named() {
			if what := s.HitBy(t); what != nil && !slices.Contains(second, policy.ApproveSource) {
				p.Warnings = append(p.Warnings, refusal.Warning{Text: what})
			}
		}
		blind := text.New(policy.NeverVisitors, ": nobody can tell whom else ", text.Code(t.String()), " hits")
		switch broad := t.Kind != apiclient.KindRange || c.Policy.Wide(t); {
		case broad && !slices.Contains(second, policy.ApproveBroad):
			p.Warnings = append(p.Warnings, refusal.Warning{Text: blind})
		case !broad && !t.Prefix.IsSingleIP():
			p.Notes = append(p.Notes, blind)
		}
		if at, seen, ok := describe.BusiestShared(c.Context, t); ok {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: describe.SharedSource(at, seen), Known: c.Line.Has(call.FlagShared)})
		}
	}
}

// FormWarnings are what the form of the call's command should say of its attack before anything is chosen.
func FormWarnings(c *call.Call) (all []text.Text) {
	if err := c.LoadContext(); err != nil {
		return nil // the guards read it again
	}
	if top, ok := call.TopTarget(c.Attack); ok && slices.Contains(c.Cmd.Flags, call.FlagShared) {
		if at, seen, shared := describe.BusiestShared(c.Context, top); shared {
			all = append(all, describe.SharedSource(at, seen))
		}
	}
	if !c.Context.RulesLockedAt.IsZero() && slices.Contains(c.Cmd.Flags, call.FlagLocked) {
		all = append(all, describe.RulesLocked(c.Context.RulesLockedAt))
	}
	return all
}

// LockedWarnings warns a person who clicked on a button, whose dialog doesn't say so yet, that the service may refuse to change rules. A typed line isn't asked about:
// nothing worse can come of it than that answer.
func LockedWarnings(c *call.Call) []refusal.Warning {
	if c.Context.RulesLockedAt.IsZero() || !c.Warned || c.Line.Has(call.FlagLocked) {
		return nil
	}
	return []refusal.Warning{{Text: describe.RulesLocked(c.Context.RulesLockedAt)}}
}
