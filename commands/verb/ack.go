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

func ack() *call.Command {
	return &call.Command{
		Name: "ack", Aliases: []string{"claim"}, Role: record.Responder,
		Summary: "acknowledge an attack: you are on it",
		Args:    []call.Arg{argAttack},
		Write:   writeAck,
	}
}

func writeAck(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	switch {
	case k.Owner == nil:
		k.Owner = owner(c, c.Actor)
		return saveTriage(c, k, "", describe.OwnerLine(k.Owner))
	case k.Owner.ID == c.Actor.ID:
		return unchanged(k, text.New(describe.OwnerLine(k.Owner), " already. Nothing was changed")), nil
	}
	return call.Result{}, refusal.Nothing(text.New(describe.OwnerLine(k.Owner), ". Nothing was changed. ", takeOver(c)))
}

// owner is that user as the owner from now on, set by the one who asks.
func owner(c *call.Call, who record.Actor) *record.Owner {
	return &record.Owner{ID: who.ID, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to take over an attack that another user is on.
func takeOver(c *call.Call) text.Text {
	line := record.Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return text.New("To take it over: ", text.Code(line.String()))
}

func unack() *call.Command {
	return &call.Command{
		Name: "unack", Aliases: []string{"release"}, Role: record.Responder,
		Summary: "acknowledge it no longer; an admin may do so for others",
		Args:    []call.Arg{argAttack},
		Write:   writeUnack,
	}
}

func writeUnack(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	switch {
	case k.Owner == nil:
		return unchanged(k, text.New("Unacknowledged. Nothing was changed")), nil
	case k.Owner.ID != c.Actor.ID && c.Role < record.Admin:
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(describe.OwnerLine(k.Owner), ": only ", text.Sanitize(k.Owner.Name, text.MaxField), " or an admin can unacknowledge it. Nothing was changed. ", takeOver(c))}
	}
	was := k.Owner
	k.Owner, k.Released = nil, c.Now
	return saveTriage(c, k, "", text.New("Unacknowledged now; ", text.Sanitize(was.Name, text.MaxField), " was, since ", was.Since))
}

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
		return unchanged(k, text.New(describe.OwnerLine(before), " already. Nothing was changed")), nil
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
	return saveTriage(c, k, to.ID, text.New(describe.OwnerLine(k.Owner), how, ". The thread of the attack's card says so"))
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
