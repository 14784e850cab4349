package commands

import (
	"context"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Cases remembers the cases of attacks, for as long as the attacks are remembered.
type Cases interface {
	// Case is an attack's; the zero Case when nothing was said about it.
	Case(ctx context.Context, account, attack string) (record.Triage, error)
	// Cases are all of an account, by attack.
	Cases(ctx context.Context, account string) (map[string]record.Triage, error)
}

// Mutes remembers the mutes of accounts.
type Mutes interface {
	// Mutes are the account's; some may be over.
	Mutes(ctx context.Context, account string) ([]record.Mute, error)
}

// Desk is what people leave for one another beside the service: who does what, and what nobody wants to hear of for a while.
type Desk interface {
	Cases
	Mutes
}

// Touch tells that something was written down about an attack.
type Touch struct {
	Account  string
	Attack   apiclient.Attack
	Delivery string // of the request
	HandedTo string // the id of who was given the attack; "": nobody was
	At       time.Time
}

// argCase is the attack of a command that is about one and no other.
var argCase = Arg{Name: "attack", Required: true, Help: "the attack's id, as on its card; in a card's thread it need not be written", Options: ongoingAttacks}

// opened is the case of the call's attack.
func (c *Call) opened() (record.Triage, error) {
	k, err := c.facts(c.Account.Name).Triage(c.Attack.ID)
	if err != nil {
		return record.Triage{}, Away(err)
	}
	return k, nil
}

// keep writes the case of the call's attack down, and gives the answer for it.
func (c *Call) keep(k record.Triage, handedTo string, answer text.Text) (Result, error) {
	res := written(k, answer)
	res.Saves.Triage = []TriageSave{{ID: c.Attack.ID, Attack: c.Attack.Attack, Triage: k, HandedTo: handedTo}}
	return res, nil
}

// written is the answer to a request that was written down.
func written(data any, lines ...text.Text) Result {
	return Result{Outcome: "done", Lines: lines, Data: data}
}

// unwritten is the answer to a request for what holds already.
func unwritten(data any, line text.Text) Result {
	return Result{Outcome: "nothing", Lines: []text.Text{line}, Data: data}
}

// caseLines are who is on an attack and what it was found to be; none when nothing was said.
func caseLines(k record.Triage) []text.Text {
	var lines []text.Text
	if k.Owner != nil {
		lines = append(lines, OwnerLine(k.Owner))
	}
	if k.Verdict != nil {
		lines = append(lines, VerdictLine(*k.Verdict))
	}
	return lines
}

// OwnerLine says who is on it, since when.
func OwnerLine(o *record.Owner) text.Text {
	if o == nil {
		return text.New("Unacknowledged")
	}
	return OwnerOnIt(*o, text.Bold(text.Sanitize(o.Name, text.MaxField)))
}

// OnIt says that the owner, under the name given, is on an attack.
func OwnerOnIt(o record.Owner, name any) text.Text {
	return text.New(name, " is on it since ", o.Since)
}

// VerdictLine says what somebody found an attack to be.
func VerdictLine(v record.Verdict) text.Text {
	return text.New("Verdict: ", text.Bold(strings.ReplaceAll(text.Sanitize(v.Is, text.MaxField), "_", " ")), ", by ", text.Sanitize(v.By.Name, text.MaxField), " ", v.At)
}

// NoteLine is a note with its author.
func NoteLine(n record.Note) text.Text {
	return text.New("Note of ", text.Sanitize(n.By.Name, text.MaxField), " ", n.At, ": ", text.Sanitize(n.Text, maxNote))
}

// joined is one line of several.
func joined(lines []text.Text, between string) (all text.Text) {
	for i, l := range lines {
		if i > 0 {
			all = text.New(all, between)
		}
		all = text.New(all, l)
	}
	return all
}

// Enumerate is the first of all, as show shows them, with commas between them, and how many more there are.
func Enumerate[T any](all []T, most int, show func(T) text.Text) text.Text {
	var shown []text.Text
	for _, one := range all[:min(most, len(all))] {
		shown = append(shown, show(one))
	}
	line := joined(shown, ", ")
	if more := len(all) - most; more > 0 {
		line = text.New(line, " and ", more, " more")
	}
	return line
}

// codeText shows a word as code.
func codeText(word string) text.Text { return text.New(text.Code(word)) }

// actingClaims makes whoever changed something for an attack its owner, if nobody is. That it can't be written down fails no change.
func (r *Runner) actingClaims(ctx context.Context, c *job, ch record.Change) {
	if ch.State != record.StateDone || ch.AttackID == "" || ch.Undoes != "" || ch.Actor.Via == record.ViaClock {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	k, err := r.cfg.Desk.Case(ctx, ch.Account, ch.AttackID)
	if err == nil && k.Owner == nil {
		k.Owner = &record.Owner{ID: ch.Actor.ID, Name: ch.Actor.Name, Since: ch.At, By: ch.Actor}
		err = c.lock.SaveCase(ctx, ch.AttackID, k)
	}
	if err != nil {
		r.cfg.Log.Error("claim by acting", "account", ch.Account, "attack", ch.AttackID, "err", err)
	}
}
