// Package call holds a request with everything a command works on: the command, its line, the account, the facts, and
// what it gives back.
//
// A command declares what it needs as Rounds of Needs: typed arguments, one round or two, the second of which follows
// from the facts of the first. The loader of package commands reads each round side by side into the Facts of each
// account that the call is about, once each. Then the command runs, once: it is a pure function of the call, and can't
// ask for more. A fact is its value, or why it is unknown; Get fails for one that wasn't asked for, so that it is never
// taken for there being nothing. What a change goes by (its account's changes and context, its attack's triage) is read
// before, in the round trip that begins its draft, and counts as read.
//
//   - facts.go: Facts, Needs, Rounds
//   - call.go, command.go, arguments.go, typed.go: the call, its command, and how a line is read
//   - attack.go: what an attack's card, advice and reports follow from
//   - page.go, form.go: listings cut into pages, forms to fill in
package call

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// OnlyAccount is the name of the call's account; "" where it has none.
func (c *Call) OnlyAccount() string {
	if c.Account == nil {
		return ""
	}
	return c.Account.Name
}

// AttackID is the id of the call's attack; "" where it is about none.
func (c *Call) AttackID() string {
	if c.Attack == nil {
		return ""
	}
	return c.Attack.ID
}

// DropAttack makes the line about something else than the attack in whose thread it was typed.
func (c *Call) DropAttack() {
	c.Line, c.Attack = c.Line.With("attack", ""), nil
}

// AuditEntry is the audit entry of the call's outcome.
func (c *Call) AuditEntry(outcome string) record.AuditEntry {
	at := cmp.Or(c.Asked, c.Now) // what wafbot does by itself nobody asked for
	return record.AuditEntry{At: at, Account: c.OnlyAccount(), Actor: c.Actor, Line: c.Line.String(), Outcome: outcome,
		Attack: c.AttackID(), RequestID: c.RequestID()}
}

// Ongoing reports whether the attack's last hit is so young that it counts as going on.
func (c *Call) Ongoing(attack apiclient.Attack) bool {
	return !attack.Last.IsZero() && c.Now.Sub(attack.Last) < c.Account.OngoingFor
}

// Invocation is a request, however it came.
type Invocation struct {
	Line    record.Line  `json:"line"`
	Actor   record.Actor `json:"actor"`
	ID      string       `json:"id"`                // of the delivery: the same request again has the same
	At      time.Time    `json:"at"`                // when it was asked, by the clock that the replicas share
	Account string       `json:"account,omitempty"` // the account of the place where it was asked, if the place has one
	Attack  string       `json:"attack,omitempty"`  // the attack in whose thread it was asked, as AttackID makes it
	Warned  bool         `json:"warned,omitempty"`  // the warnings that follow from the line were shown, in a button's dialog
	Anyway  bool         `json:"anyway,omitempty"`  // all warnings were shown and accepted
	Yes     bool         `json:"-"`                 // all questions were answered with yes beforehand, unseen: only some are asked all the same
	Ask     bool         `json:"ask,omitempty"`     // do nothing but say what would be done
	Within  string       `json:"-"`                 // the id of the request that it is a part of, as what was approved is of the approval; "": it is one itself
	Begun   func()       `json:"-"`                 // called once, as soon as what it changes is stored, so that the same person's next line may be planned; nil: nobody waits
}

// Result is the outcome of an invocation.
type Result struct {
	// Outcome is done, dry_run, nothing, waiting (for approval), rejected or closed; "" of a command that reads; failed of
	// a check that found something wrong.
	Outcome  string          `json:"outcome"`
	Lines    text.Lines      `json:"lines"`
	Changes  []record.Change `json:"changes,omitempty"`
	AttackID string          `json:"attack,omitempty"`
	Account  string          `json:"account,omitempty"`
	Data     any             `json:"data,omitempty"` // the same for programs
	Next     *record.Line    `json:"-"`              // shows what of a listing did not fit; nil: nothing is left
	// Document is Markdown to be copied, as it is: in a chat the page of it that Line names, under the lines; at a
	// terminal all of it, in their place. "": there is none.
	Document string      `json:"-"`
	Line     record.Line `json:"-"` // of a document: shows it
	// Stream is printed at a terminal in the place of the lines, each item as a line of JSON; nil: there is none.
	Stream iter.Seq2[any, error] `json:"-"`
	Parts  []Part                `json:"-"` // the same as Lines, with what can be done about each; none: Lines are all there is
	Saves  record.Saves          `json:"-"` // of a command that writes
	Home   any                   `json:"-"` // of status: for a Home tab
}

// Setup is what the configuration says, as commands need it.
type Setup struct {
	Zone      *time.Location    // of the times in a report; nil: UTC
	Accounts  []*config.Account // of a call those alone on which who asks may read: the others don't exist for him
	Commands  []*Command        // all the verbs, in the order of help
	Off       func() bool       // a living replica's configuration switches all changes off; nil: none does
	StoreAway func() error      // why the store takes nothing just now, nil: it does; nil: that isn't known
	// Sources are the named ones of an account, as they are now; nil: none.
	Sources func(account string) []config.Source
}

// PolicyOf is an account's policy as it holds now.
func (s Setup) PolicyOf(a *config.Account) policy.Policy {
	p := policy.Policy{Policy: a.Policy, Off: s.Off, StoreAway: s.StoreAway}
	if s.Sources != nil {
		p.Sources = func() []config.Source { return s.Sources(a.Name) }
	}
	return p
}

// Call is an invocation on its way through the Runner: looked up, checked and allowed.
type Call struct {
	Setup
	Facts *Facts // of the account
	Invocation
	Cmd      *Command
	Line     record.Line             // canonical
	Account  *config.Account         // nil if the command needs none and none was named
	InScope  []*config.Account       // the accounts it is about
	Policy   policy.Policy           // the account's; without one what holds where the configuration says nothing
	Rights                           // of the person who asks, on the account; without one the highest on any
	RightsOn map[string]Rights       // the same by account
	Now      time.Time               // by the clock of the account's service; without an account by the one that the replicas share
	Asked    time.Time               // when it was asked, by the same
	Times    map[string]time.Time    // Now on each account that it is about
	Attack   *record.KnownAttack     // of attack=ID
	Implied  bool                    // attack= was not typed: it is the attack in whose thread the line was
	Changes  []record.Change         // of a change: the account's changes, the newest first
	Context  record.AccountContext   // of a call that changes the service; of others as far as they read it
	Needs    []record.ApprovalReason // why it needs approval, as far as it was planned
	Granted  *record.ApprovalRequest // by which it is carried out; nil: by none

	factsOn map[string]*Facts // by account
}

// WithOutcome is the result with its outcome as the first word of its lines. A dry run, and what waits for approval,
// say it themselves.
func (res Result) WithOutcome() Result {
	word := map[string]string{"done": "Done", "nothing": "Done, nothing to change"}[res.Outcome]
	if word == "" || len(res.Lines) == 0 {
		return res
	}
	res.Lines = slices.Clone(res.Lines)
	res.Lines[0] = text.Lead(word, ". ", res.Lines[0])
	return res
}

// And is the result with more lines.
func (res Result) And(lines ...text.Text) Result {
	res.Lines = append(res.Lines, lines...)
	return res
}

// PolicyNow is the configured one, with what is protected on the account.
func (c *Call) PolicyNow() policy.Policy { return c.Policy.With(c.Context.Guarded()) }

// On has a call be about an account.
func (c *Call) On(a *config.Account) {
	c.Account, c.InScope, c.Policy, c.Rights = a, []*config.Account{a}, c.PolicyOf(a), c.RightsOn[a.Name]
	c.Facts = c.FactsOf(a.Name)
	c.Context = c.Facts.Context.Value
}

// For is a call as it is about one of its accounts alone, at the time of that account.
func (c *Call) For(a *config.Account) *Call {
	c.FactsOf(a.Name) // else the copy alone would have them
	one := *c
	one.On(a)
	one.Now = c.Times[a.Name]
	return &one
}

// Rights is what a person may do on an account, as far as that is known.
type Rights struct {
	Role   record.Role
	Who    record.Actor // as the workspace knows the person
	Group  string       // the id of the user group that gives the role; "": none does
	Was    record.Role  // by user groups as they were last known, when they can't be looked up
	Could  record.Role  // the highest role that a user group may give, when they can't be looked up
	Unsure bool         // the workspace did not say who it is
	From   Outside      // "": a full member, or not known
}

// Outside is how a person is no full member of the workspace, whom no configuration gives a role.
type Outside string

// The two.
const (
	Guest    Outside = "guest"    // of the workspace
	Stranger Outside = "stranger" // of another workspace
)

// None reports whether a person may do nothing at all.
func (r Rights) None() bool { return r.Role == record.NoRole && r.Could == record.NoRole }

// ForPeople is what a person may be shown of an error: the words of a refusal, or of a fault the request's id, by which
// it is found in the log.
func ForPeople(inv Invocation, err error) (words text.Text, fault bool) {
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok {
		return refused.All(), false
	}
	return text.Newf("*Failed*: something went wrong inside wafbot. Its log says what, under the reference `%v`",
		inv.RequestID()), true
}

// RequestID is what a request is called in the log, in its audit entry, and in a fault's reference. A delivery that
// comes again has the same.
func (inv Invocation) RequestID() string {
	of := cmp.Or(inv.ID, fmt.Sprint(inv.At.UnixNano())) // without an id it changes nothing, and came once
	return cmp.Or(inv.Within, "e"+record.ShortHash(of))
}

// NewRequestID is the id of what wafbot does by itself.
func NewRequestID() string { return Invocation{ID: rand.Text()}.RequestID() }
