package commands

import (
	"context"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Case is what people said about an attack, and who of them is on it.
type Case struct {
	Owner    *Owner    `json:"owner,omitempty"`   // nil: nobody
	Released time.Time `json:"released,omitzero"` // when the last owner left it; zero: none ever did
	Verdict  *Verdict  `json:"verdict,omitempty"`
	Notes    []Note    `json:"notes,omitempty"` // the oldest first
}

// Owner is who is on an attack.
type Owner struct {
	ID    string    `json:"id"`   // as Actor has it
	Name  string    `json:"name"` // for people
	Since time.Time `json:"since"`
	By    Actor     `json:"by"`             // the owner, or who handed it over
	From  string    `json:"from,omitempty"` // the id of who had it before it was handed over; "": nobody
	// FromName is for people; "" where only the id was kept.
	FromName string `json:"from_name,omitempty"`
	Note     string `json:"note,omitempty"` // the id of the note that it was handed over with
}

// Verdict is what a person found an attack to be.
type Verdict struct {
	Is string    `json:"is"` // real, false_alarm or test
	By Actor     `json:"by"`
	At time.Time `json:"at"`
}

// Note is what a person wrote about an attack.
type Note struct {
	ID   string    `json:"id"` // the same request has the same
	By   Actor     `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Cases remembers the cases of attacks, for as long as the attacks are remembered.
type Cases interface {
	// Case is an attack's; the zero Case when nothing was said about it.
	Case(ctx context.Context, account, attack string) (Case, error)
	// Cases are all of an account, by attack.
	Cases(ctx context.Context, account string) (map[string]Case, error)
}

// Mutes remembers the mutes of accounts.
type Mutes interface {
	// Mutes are the account's; some may be over.
	Mutes(ctx context.Context, account string) ([]Mute, error)
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
func (c *Call) opened(ctx context.Context) (Case, error) {
	k, err := c.cfg.Desk.Case(ctx, c.Account.Name, c.Attack.ID)
	if err != nil {
		return Case{}, Away(err)
	}
	return k, nil
}

// keep writes the case of the call's attack down, and gives the answer for it.
func (c *Call) keep(ctx context.Context, k Case, handedTo string, answer Text) (Result, error) {
	if err := c.lock.SaveCase(ctx, c.Attack.ID, k); err != nil {
		return Result{}, Away(err)
	}
	c.cfg.Touched(ctx, Touch{Account: c.Account.Name, Attack: c.Attack.Attack, Delivery: c.ID, HandedTo: handedTo, At: c.Now})
	return written(k, answer), nil
}

// written is the answer to a request that was written down.
func written(data any, lines ...Text) Result {
	return Result{Outcome: "done", Lines: lines, Data: data}
}

// unwritten is the answer to a request for what holds already.
func unwritten(data any, line Text) Result {
	return Result{Outcome: "nothing", Lines: []Text{line}, Data: data}
}

// caseLines are who is on an attack and what it was found to be; none when nothing was said.
func caseLines(k Case) []Text {
	var lines []Text
	if k.Owner != nil {
		lines = append(lines, OwnerLine(k.Owner))
	}
	if k.Verdict != nil {
		lines = append(lines, VerdictLine(*k.Verdict))
	}
	return lines
}

// OwnerLine says who is on it, since when.
func OwnerLine(o *Owner) Text {
	if o == nil {
		return Say("Nobody is on it")
	}
	return o.OnIt(Bold(Visible(o.Name, maxField)))
}

// OnIt says that the owner, under the name given, is on an attack.
func (o Owner) OnIt(name any) Text { return Say(name, " is on it since ", o.Since) }

// VerdictLine says what somebody found an attack to be.
func VerdictLine(v Verdict) Text {
	return Say("Verdict: ", Bold(strings.ReplaceAll(Visible(v.Is, maxField), "_", " ")), ", by ", Visible(v.By.Name, maxField), " ", v.At)
}

// NoteLine is a note with its author.
func NoteLine(n Note) Text {
	return Say("Note of ", Visible(n.By.Name, maxField), " ", n.At, ": ", Visible(n.Text, maxNote))
}

// joined is one line of several.
func joined(lines []Text, between string) (all Text) {
	for i, l := range lines {
		if i > 0 {
			all = Say(all, between)
		}
		all = Say(all, l)
	}
	return all
}

// actingClaims makes whoever changed something for an attack its owner, if nobody is. That it can't be written down fails no change.
func (r *Runner) actingClaims(ctx context.Context, c *Call, ch Change) {
	if ch.State != StateDone || ch.AttackID == "" || ch.Undoes != "" || ch.Actor.Via == ViaClock {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	k, err := r.cfg.Desk.Case(ctx, ch.Account, ch.AttackID)
	if err == nil && k.Owner == nil {
		k.Owner = &Owner{ID: ch.Actor.ID, Name: ch.Actor.Name, Since: ch.At, By: ch.Actor}
		err = c.lock.SaveCase(ctx, ch.AttackID, k)
	}
	if err != nil {
		r.cfg.Log.Error("claim by acting", "account", ch.Account, "attack", ch.AttackID, "err", err)
	}
}
