package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

func undo() *call.Command {
	return &call.Command{
		Name: "undo", Role: record.Responder,
		Summary: "undo changes: your last one, those with these ids, or all of an attack or a person",
		Args: []call.Arg{
			{Name: "change", Object: true, Many: true, Help: "the change's id, as c7k2m9xw4; left out with all else: your last one", Options: form.ChangesInForce},
			{Name: "attack", Typed: true, Help: "all that was done for that attack", Options: form.OngoingAttacks},
			{Name: "by", Help: "all that a user did: @me, a mention, or a part of a name or id; with since="},
			{Name: "since", Help: "only what was done in so long: 30m", Label: "How far back", Read: call.ReadDuration},
		},
		Example: "undo by=@me since=30m",
		Plan:    planUndo,
	}
}

func planUndo(c *call.Call) ([]call.Plan, error) {
	if change.UndoesMany(c) {
		return change.PlanUndoMany(c)
	}
	ch, err := change.ByLine(c)
	if err != nil {
		return nil, err
	}
	p, err := change.PlanUndo(c, ch)
	if len(p.Steps) > 0 && c.Actor.Via != record.ViaClock {
		p.Notes = append(p.Notes, offerProtect(c, ch)...)
	}
	return []call.Plan{p}, err
}

func extend() *call.Command {
	return &call.Command{
		Name: "extend", Role: record.Responder,
		Summary: "let a change hold longer than it would",
		Args: []call.Arg{
			{Name: "change", Object: true, Required: true, Help: "the change's id, as c7k2m9xw4", Options: form.ChangesInForce},
			{Name: "for", Required: true, Help: "how much longer, from its present end: 30m, 4h, 7d", Label: "How much longer", Read: call.ReadDuration, Options: form.LengthsOrEver},
			form.ArgReason,
		},
		Example: "extend c7k2m9xw4 for=4h",
		Plan:    change.PlanExtend,
	}
}
