package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

func extend() *call.Command {
	return &call.Command{
		Name: "extend", Role: record.Responder,
		Summary: "let a change hold longer than it would",
		Args: []call.Arg{
			{Name: "change", Object: true, Required: true, Help: "the change's id, as c7k2m9xw4", Options: form.ChangesInForce, Needs: call.Needs{Changes: true}},
			{Name: "for", Required: true, Help: "how much longer, from its present end: 30m, 4h, 7d", Label: "How much longer", Read: call.ReadDuration, Bare: grammar.IsDuration, Options: form.LengthsOrEver},
			form.ArgReason,
		},
		Example: "extend c7k2m9xw4 for=4h",
		Needs:   call.Rounds{change.ExtendNeeds},
		Plan:    change.PlanExtend,
	}
}
