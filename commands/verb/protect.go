package verb

import (
	"cmp"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func protect() *call.Command {
	return &call.Command{
		Name: "protect", Role: record.Admin,
		Summary: "never deny a source again, until unprotect; what must outlive Redis belongs into the configuration",
		Example: "protect 198.51.100.0/24 name=\"branch office\"",
		Args: []call.Arg{
			{Name: "target", Object: true, Many: true, Required: true, Read: readRange, Help: "an address, or a range as 203.0.113.0/24"},
			{Name: "name", Help: "what it is, for people"},
			{Name: "deny", Help: "never, or approval; left out: never", Read: call.OneOf(policy.DenyNever, policy.DenyApproval)},
			form.ArgAttack, form.ArgReason,
		},
		Write: writeProtect,
	}
}

func writeProtect(c *call.Call) (call.Result, error) {
	if err := c.LoadContext(); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	targets, err := change.Targets(c)
	if err != nil {
		return call.Result{}, err
	}
	if err := approval.GuardProtecting(c, targets); err != nil {
		return call.Result{}, err
	}
	all, fresh := slices.Clone(c.Context.Protected), false
	var lines []text.Text
	for _, t := range targets {
		p := protected(c, t)
		i := slices.IndexFunc(all, func(have record.Protected) bool { return have.ID == p.ID })
		if i >= 0 && all[i].Name == p.Name && all[i].Deny == p.Deny {
			lines = append(lines, text.New("Protected already: ", describe.Protected(all[i])))
			continue
		}
		if fresh = true; i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		lines = append(append(lines, text.New("Protected: ", describe.Protected(p))), change.DeniedNow(c, t)...)
	}
	if !fresh {
		return call.Result{Outcome: "nothing", Lines: append(lines, text.New("Nothing was changed")), Data: all}, nil
	}
	return saveProtected(c, saved(all, lines...), all, targets...), nil
}

// saveProtected is the answer of a command that changed what is protected; the cards of attacks from what changed are stale.
func saveProtected(c *call.Call, res call.Result, all []record.Protected, changed ...grammar.Target) call.Result {
	cards := staleCards(c, func(a apiclient.Attack) bool {
		return slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool {
			return slices.ContainsFunc(changed, func(t grammar.Target) bool { return t.Overlaps(grammar.OnlyAddr(s.IP)) })
		})
	})
	if attack := c.Line.Keys["attack"]; attack != "" && !slices.Contains(cards, attack) {
		cards = append(cards, attack)
	}
	res.Saves.Protected = &call.Replacement[record.Protected]{All: all, Stale: cards}
	return res
}

// protected is the range as the line protects it.
func protected(c *call.Call, t grammar.Target) record.Protected {
	keys := c.Line.Keys
	return record.Protected{
		ID: record.ProtectedID(c.Account.Name, t.String()), Range: t.Prefix, Name: keys["name"], Deny: cmp.Or(keys["deny"], policy.DenyNever), Reason: keys["reason"], By: c.Actor, At: c.Now,
	}
}
