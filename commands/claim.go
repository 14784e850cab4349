package commands

import (
	"cmp"
	"context"
	"regexp"
	"strings"
)

func claim() *Command {
	return &Command{
		Name: "claim", Aliases: []string{"ack"}, Role: Responder,
		Summary: "say that you are on an attack",
		Args:    []Arg{argCase},
		Write:   writeClaim,
	}
}

func writeClaim(ctx context.Context, c *Call) (Result, error) {
	k, err := c.opened(ctx)
	if err != nil {
		return Result{}, err
	}
	switch {
	case k.Owner == nil:
		k.Owner = c.owner(c.Actor)
		return c.keep(ctx, k, "", OwnerLine(k.Owner))
	case k.Owner.ID == c.Actor.ID:
		return unwritten(k, Say(OwnerLine(k.Owner), " already. Nothing was changed")), nil
	}
	return Result{}, nothing(Say(OwnerLine(k.Owner), ". Nothing was changed. ", c.takeOver()))
}

// owner makes somebody the owner from now on, by the one who asks.
func (c *Call) owner(who Actor) *Owner {
	return &Owner{ID: who.ID, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to get an attack that somebody else is on.
func (c *Call) takeOver() Text {
	line := Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return Say("To take it over: ", Code(line.String()))
}

// ClaimButton says that whoever clicks it is on the attack.
func ClaimButton(s Situation) Suggestion {
	return Suggestion{Label: "I'm on it", Line: s.line("claim")}
}

func release() *Command {
	return &Command{
		Name: "release", Role: Responder,
		Summary: "say that you are no longer on an attack; an admin may say it of others",
		Args:    []Arg{argCase},
		Write:   writeRelease,
	}
}

func writeRelease(ctx context.Context, c *Call) (Result, error) {
	k, err := c.opened(ctx)
	if err != nil {
		return Result{}, err
	}
	switch {
	case k.Owner == nil:
		return unwritten(k, Say("Nobody is on it. Nothing was changed")), nil
	case k.Owner.ID != c.Actor.ID && c.Role < Admin:
		return Result{}, &Refusal{Kind: ErrDenied, Text: Say(OwnerLine(k.Owner), ": only ", Visible(k.Owner.Name, maxField), " or an admin can release it. Nothing was changed. ", c.takeOver())}
	}
	was := k.Owner
	k.Owner, k.Released = nil, c.Now
	return c.keep(ctx, k, "", Say("Nobody is on it any more; ", Visible(was.Name, maxField), " was, since ", was.Since))
}

func handover() *Command {
	return &Command{
		Name: "handover", Role: Responder,
		Summary: "put somebody else on an attack, or yourself; with --all on everything that goes on",
		Args: []Arg{
			{Name: "message", Object: true, Rest: true, Help: "what they should know: becomes a note", Kind: FieldLines},
			{Name: "to", Required: true, Help: "who: @me, a mention, or a Slack user id as U0123ABCD", Label: "To", Read: readUser, Kind: FieldUser},
			{Name: "attack", Help: "the attack's id, as on its card; in a card's thread it need not be written; left out with --all", Options: ongoingAttacks},
		},
		Flags: []string{"all"}, Example: "handover --all to=@me", Form: handoverForm,
		Missing: func(l Line) bool { return l.Keys["attack"] == "" && !l.Has("all") },
		Write:   writeHandover,
	}
}

func writeHandover(ctx context.Context, c *Call) (Result, error) {
	switch {
	case c.Line.Has("all"):
		if c.Attack != nil && !c.Implied {
			return Result{}, c.Cmd.misuse(Say("name an attack or write ", Code("--all"), ", not both"))
		}
		c.forgetAttack()
		return c.writeTakeOver(ctx)
	case c.Attack == nil:
		return Result{}, c.Cmd.misuse(Say(Code("attack="), " is missing: the attack's id, as on its card; or write ", Code("--all")))
	}
	to, err := c.assignee(ctx)
	if err != nil {
		return Result{}, err
	}
	k, err := c.opened(ctx)
	if err != nil {
		return Result{}, err
	}
	before := k.Owner
	if before != nil && before.ID == to.ID && len(c.Line.Words) == 0 {
		return unwritten(k, Say(OwnerLine(before), " already. Nothing was changed")), nil
	}
	k.Owner = c.owner(to)
	if before != nil && before.ID == to.ID {
		k.Owner.Since, k.Owner.From, k.Owner.FromName = before.Since, before.From, before.FromName
	} else if before != nil {
		k.Owner.From, k.Owner.FromName = before.ID, before.Name
	}
	if len(c.Line.Words) > 0 {
		if k.Owner.Note, err = c.addNote(&k, c.Line.Words[0]); err != nil {
			return Result{}, err
		}
	}
	how := Say(", handed over by ", c.Actor.Name)
	if to.ID == c.Actor.ID {
		how = Say(", taken over")
	}
	return c.keep(ctx, k, to.ID, Say(OwnerLine(k.Owner), how, ". It is told where the attack's card is"))
}

// assignee is whom a line hands an attack over to: a full member who may act.
func (c *Call) assignee(ctx context.Context) (Actor, error) {
	to := Actor{ID: c.Line.Keys["to"], Team: c.Actor.Team}
	if to.ID == me || to.ID == c.Actor.ID {
		return c.Actor, nil
	}
	s := c.rights(ctx, to)
	to.Name = cmp.Or(s.name, to.ID)
	needs := Say(". Who is on an attack needs the role ", Bold(Responder.String()), ". Nothing was changed")
	switch {
	case s.unsure:
		return Actor{}, guarded(Say("Slack doesn't tell wafbot just now who ", User(to.ID), " is. Nothing was changed: try again in a moment"))
	case s.role < Responder && s.could >= Responder:
		return Actor{}, guarded(Say("Slack doesn't tell wafbot just now whether ", User(to.ID), " is in a user group that has a role. Nothing was changed: try again in a moment"))
	case s.role == NoRole:
		return Actor{}, guarded(Say(User(to.ID), " has no role here, or is no full member of the workspace", needs))
	case s.role < Responder:
		return Actor{}, guarded(Say(User(to.ID), " has the role ", s.role.String(), byGroup(s.group), needs))
	}
	return to, nil
}

// me is the one who asks, as a user that is named.
const me = "me"

// userID is a Slack user as Slack writes a mention, or as a person writes one by hand.
var userID = regexp.MustCompile(`^<?@?([UW][A-Z0-9]{1,19})(\|[^>]*)?>?$`)

func readUser(value string, _ *Account) (string, error) {
	if strings.EqualFold(strings.TrimPrefix(value, "@"), me) {
		return me, nil
	}
	if m := userID.FindStringSubmatch(value); m != nil {
		return m[1], nil
	}
	return "", usage(Say(typed(value), " can't be looked up: write ", Code("@me"), ", or the user's id, as ", Code("U0123ABCD"),
		" (in Slack: the profile, ⋮, Copy member ID)"))
}
