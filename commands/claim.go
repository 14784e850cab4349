package commands

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func claim() *Command {
	return &Command{
		Name: "claim", Aliases: []string{"ack"}, Role: record.Responder,
		Summary: "say that you are on an attack",
		Args:    []Arg{argCase},
		Write:   writeClaim,
	}
}

func writeClaim(c *Call) (Result, error) {
	k, err := c.opened()
	if err != nil {
		return Result{}, err
	}
	switch {
	case k.Owner == nil:
		k.Owner = c.owner(c.Actor)
		return c.keep(k, "", OwnerLine(k.Owner))
	case k.Owner.ID == c.Actor.ID:
		return unwritten(k, text.New(OwnerLine(k.Owner), " already. Nothing was changed")), nil
	}
	return Result{}, refusal.Nothing(text.New(OwnerLine(k.Owner), ". Nothing was changed. ", c.takeOver()))
}

// owner makes somebody the owner from now on, by the one who asks.
func (c *Call) owner(who record.Actor) *record.Owner {
	return &record.Owner{ID: who.ID, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to get an attack that somebody else is on.
func (c *Call) takeOver() text.Text {
	line := record.Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return text.New("To take it over: ", text.Code(line.String()))
}

// ClaimButton says that whoever clicks it is on the attack.
func ClaimButton(s Situation) Suggestion {
	return Suggestion{Label: "Acknowledge", Line: s.line("claim")}
}

func release() *Command {
	return &Command{
		Name: "release", Role: record.Responder,
		Summary: "say that you are no longer on an attack; an admin may say it of others",
		Args:    []Arg{argCase},
		Write:   writeRelease,
	}
}

func writeRelease(c *Call) (Result, error) {
	k, err := c.opened()
	if err != nil {
		return Result{}, err
	}
	switch {
	case k.Owner == nil:
		return unwritten(k, text.New("Unacknowledged. Nothing was changed")), nil
	case k.Owner.ID != c.Actor.ID && c.Role < record.Admin:
		return Result{}, &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(OwnerLine(k.Owner), ": only ", text.Sanitize(k.Owner.Name, text.MaxField), " or an admin can release it. Nothing was changed. ", c.takeOver())}
	}
	was := k.Owner
	k.Owner, k.Released = nil, c.Now
	return c.keep(k, "", text.New("Unacknowledged now; ", text.Sanitize(was.Name, text.MaxField), " was, since ", was.Since))
}

func handover() *Command {
	return &Command{
		Name: "handover", Role: record.Responder,
		Summary: "put somebody else on an attack, or yourself; with --all on everything that goes on",
		Args: []Arg{
			{Name: "message", Object: true, Rest: true, Help: "what they should know: becomes a note", Kind: FieldLines},
			{Name: "to", Required: true, Help: "who: @me, a mention, or a Slack user id as U0123ABCD", Label: "To", Read: readUser, Kind: FieldUser},
			{Name: "attack", Help: "the attack's id, as on its card; in a card's thread it need not be written; left out with --all", Options: ongoingAttacks},
		},
		Flags: []string{"all"}, Example: "handover --all to=@me", Form: handoverForm,
		Missing: func(l record.Line) bool { return l.Keys["attack"] == "" && !l.Has("all") },
		Write:   writeHandover,
	}
}

func writeHandover(c *Call) (Result, error) {
	switch {
	case c.Line.Has("all"):
		if c.Attack != nil && !c.Implied {
			return Result{}, c.Cmd.misuse(text.New("name an attack or write ", text.Code("--all"), ", not both"))
		}
		c.forgetAttack()
		return c.writeTakeOver()
	case c.Attack == nil:
		return Result{}, c.Cmd.misuse(text.New(text.Code("attack="), " is missing: the attack's id, as on its card; or write ", text.Code("--all")))
	}
	to, err := c.assignee()
	if err != nil {
		return Result{}, err
	}
	k, err := c.opened()
	if err != nil {
		return Result{}, err
	}
	before := k.Owner
	if before != nil && before.ID == to.ID && len(c.Line.Words) == 0 {
		return unwritten(k, text.New(OwnerLine(before), " already. Nothing was changed")), nil
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
	how := text.New(", handed over by ", c.Actor.Name)
	if to.ID == c.Actor.ID {
		how = text.New(", taken over")
	}
	return c.keep(k, to.ID, text.New(OwnerLine(k.Owner), how, ". It is told where the attack's card is"))
}

// assignee is whom a line hands an attack over to: a full member who may act.
func (c *Call) assignee() (record.Actor, error) {
	to := record.Actor{ID: c.Line.Keys["to"], Team: c.Actor.Team}
	if to.ID == me || to.ID == c.Actor.ID {
		return c.Actor, nil
	}
	s := c.given().Rights(to)
	to.Name = cmp.Or(s.name, to.ID)
	needs := text.New(". Who is on an attack needs the role ", text.Bold(record.Responder.String()), ". Nothing was changed")
	switch {
	case s.unsure:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't tell wafbot just now who ", text.User(to.ID), " is. Nothing was changed: try again in a moment"))
	case s.role < record.Responder && s.could >= record.Responder:
		return record.Actor{}, refusal.Guarded(text.New("Slack doesn't tell wafbot just now whether ", text.User(to.ID), " is in a user group that has a role. Nothing was changed: try again in a moment"))
	case s.role == record.NoRole:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has no role here, or is no full member of the workspace", needs))
	case s.role < record.Responder:
		return record.Actor{}, refusal.Guarded(text.New(text.User(to.ID), " has the role ", s.role.String(), byGroup(s.group), needs))
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
	return "", refusal.Usage(text.New(refusal.Typed(value), " can't be looked up: write ", text.Code("@me"), ", or the user's id, as ", text.Code("U0123ABCD"),
		" (in Slack: the profile, ⋮, Copy member ID)"))
}
