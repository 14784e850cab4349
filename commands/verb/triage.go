package verb

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// owner is that user as the owner from now on, set by the one who asks.
func owner(c *call.Call, who record.Actor) *record.Owner {
	return &record.Owner{ID: who.ID, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to take over an attack that another user is on.
func takeOver(c *call.Call) text.Text {
	line := record.Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return text.New("To take it over: ", text.Code(line.String()))
}

// argAttack is the attack of a command that needs one.
var argAttack = call.Arg{Name: "attack", Required: true, Help: "the attack's id, as on its card; in a card's thread it need not be written", Options: form.OngoingAttacks}

// triageOf is the triage of the call's attack.
func triageOf(c *call.Call) (record.Triage, error) {
	k, err := c.Facts(c.Account.Name).Triage(c.Attack.ID)
	if err != nil {
		return record.Triage{}, refusal.Away(err)
	}
	return k, nil
}

// saveTriage is the answer of a command that changed the triage of the call's attack, with what the Runner saves.
func saveTriage(c *call.Call, k record.Triage, handedTo string, answer text.Text) (call.Result, error) {
	res := saved(k, answer)
	res.Saves.Triage = map[string]record.Triage{c.Attack.ID: k}
	if handedTo != "" {
		res.Saves.Events = []record.Event{handoverEvent(c, handedTo)}
	}
	return res, nil
}

// saved is the answer where something is saved.
func saved(data any, lines ...text.Text) call.Result {
	return call.Result{Outcome: "done", Lines: lines, Data: data}
}

// unchanged is the answer where what was asked for holds already.
func unchanged(data any, line text.Text) call.Result {
	return call.Result{Outcome: "nothing", Lines: []text.Text{line}, Data: data}
}

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
		return saveTriage(c, k, "", describe.Owner(k.Owner))
	case k.Owner.ID == c.Actor.ID:
		return unchanged(k, text.New(describe.Owner(k.Owner), " already. Nothing was changed")), nil
	}
	return call.Result{}, refusal.Nothing(text.New(describe.Owner(k.Owner), ". Nothing was changed. ", takeOver(c)))
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
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(describe.Owner(k.Owner), ": only ", text.Sanitize(k.Owner.Name, text.MaxField), " or an admin can unacknowledge it. Nothing was changed. ", takeOver(c))}
	}
	was := k.Owner
	k.Owner, k.UnackedAt = nil, c.Now
	return saveTriage(c, k, "", text.New("Unacknowledged now; ", text.Sanitize(was.Name, text.MaxField), " was, since ", was.Since))
}

func note() *call.Command {
	return &call.Command{
		Name: "note", Role: record.Responder,
		Summary: "write down what others should know about an attack",
		Args:    []call.Arg{{Name: "text", Object: true, Rest: true, Required: true, Help: "at most 500 characters", Kind: call.FieldLines}, argAttack},
		Example: `note "type=xss was our own test"`,
		Write:   writeNote,
	}
}

func writeNote(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	id, err := addNote(c, &k, c.Line.Words[0])
	if err != nil {
		return call.Result{}, err
	}
	i := slices.IndexFunc(k.Notes, func(n record.Note) bool { return n.ID == id })
	return saveTriage(c, k, "", describe.Note(k.Notes[i]))
}

// noteAgain is for how long the same words of the same user are the same note: typed twice because the answer was slow, or delivered over two ways.
const noteAgain = time.Minute

// addNote adds a note to the triage, unless it is there already.
func addNote(c *call.Call, k *record.Triage, words string) (id string, err error) {
	words = strings.Join(strings.Fields(strings.ToValidUTF8(words, "")), " ")
	id = record.NoteID(c.Account.Name, c.ID)
	n := utf8.RuneCountInString(words)
	same := func(n record.Note) bool {
		return n.ID == id || n.Text == words && n.By.ID == c.Actor.ID && c.Now.Sub(n.At) < noteAgain
	}
	if i := slices.IndexFunc(k.Notes, same); i >= 0 {
		return k.Notes[i].ID, nil
	}
	switch {
	case n == 0:
		return "", c.Cmd.Misuse(text.New("that note is empty"))
	case n > describe.MaxNote:
		return "", refusal.Usage(text.New("that note has ", n, " characters: ", describe.MaxNote, " at most. Nothing was noted"))
	case len(k.Notes) == describe.MaxNotes:
		return "", refusal.Guarded(text.New("this attack has ", describe.MaxNotes, " notes already, and no more are kept. Nothing was noted"))
	}
	k.Notes = append(k.Notes, record.Note{ID: id, By: c.Actor, At: c.Now, Text: words})
	return id, nil
}
