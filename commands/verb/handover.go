package verb

import (
	"cmp"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func handover() *call.Command {
	return &call.Command{
		Name: "handover", Aliases: []string{"assign"}, Role: record.Responder,
		Summary: "hand an attack to another user, or take it over; with --all everything that goes on",
		Args: []call.Arg{
			{Name: "message", Object: true, Rest: true, Help: "what they should know: becomes a note", Kind: call.FieldLines},
			{Name: "to", Required: true, Help: "who: @me, a mention, or a Slack user id as U0123ABCD", Label: "To", Read: call.ReadUser, Kind: call.FieldUser},
			{Name: "attack", Help: "the attack's id, as on its card; in a card's thread it need not be written; left out with --all", Options: form.OngoingAttacks},
		},
		Flags: []string{"all"}, Example: "handover --all to=@me", Form: form.HandoverForm,
		Missing: func(l record.Line) bool { return l.Keys["attack"] == "" && !l.Has("all") },
		Write:   writeHandover,
	}
}

func writeHandover(c *call.Call) (call.Result, error) {
	switch {
	case c.Line.Has("all"):
		if c.Attack != nil && !c.Implied {
			return call.Result{}, c.Cmd.Misuse(text.New("name an attack or write ", text.Code("--all"), ", not both"))
		}
		dropAttack(c)
		return writeTakeOver(c)
	case c.Attack == nil:
		return call.Result{}, c.Cmd.Misuse(text.New(text.Code("attack="), " is missing: the attack's id, as on its card; or write ", text.Code("--all")))
	}
	to, err := assignee(c)
	if err != nil {
		return call.Result{}, err
	}
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	before := k.Owner
	if before != nil && before.ID == to.ID && len(c.Line.Words) == 0 {
		return unchanged(k, text.New(describe.Owner(before), " already. Nothing was changed")), nil
	}
	k.Owner = owner(c, to)
	if before != nil && before.ID == to.ID {
		k.Owner.Since, k.Owner.From, k.Owner.FromName = before.Since, before.From, before.FromName
	} else if before != nil {
		k.Owner.From, k.Owner.FromName = before.ID, before.Name
	}
	if len(c.Line.Words) > 0 {
		if k.Owner.Note, err = addNote(c, &k, c.Line.Words[0]); err != nil {
			return call.Result{}, err
		}
	}
	how := text.New(", handed over by ", c.Actor.Name)
	if to.ID == c.Actor.ID {
		how = text.New(", taken over")
	}
	return saveTriage(c, k, to.ID, text.New(describe.Owner(k.Owner), how, ". The thread of the attack's card says so"))
}

// assignee is the user to whom a line hands an attack over: a full member who may act.
func assignee(c *call.Call) (record.Actor, error) {
	to := record.Actor{ID: c.Line.Keys["to"], Team: c.Actor.Team}
	if to.ID == call.Me || to.ID == c.Actor.ID {
		return c.Actor, nil
	}
	s := c.Given().Rights(to)
	to.Name = cmp.Or(s.Name, to.ID)
	needs := text.New(". Who is on an attack needs the role ", text.Bold(record.Responder.String()), ". Nothing was changed")
	switch {
	case s.Unsure:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't say just now who ", text.User(to.ID), " is. Nothing was changed: try again in a moment"))
	case s.Role < record.Responder && s.Could >= record.Responder:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't say just now whether ", text.User(to.ID), " is in a user group that has a role. Nothing was changed: try again in a moment"))
	case s.Role == record.NoRole:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has no role here, or is no full member of the workspace", needs))
	case s.Role < record.Responder:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has the role ", s.Role.String(), approval.ByGroup(s.Group), needs))
	}
	return to, nil
}
