package call

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// Situation is what is known about an attack when its card is drawn: facts of a short while ago, never read from the service for it.
type Situation struct {
	Account  *Account
	Policy   policy.Policy
	ID       string // as AttackID makes it
	Attack   apiclient.Attack
	Changes  []record.Change // made for this attack
	Known    []record.Change // the account's, whatever they are for; nil: not at hand
	Entries  []apiclient.IPRule
	Rules    []apiclient.Rule
	LookedAt time.Time // when entries and rules were read; zero: not yet
	Scene    record.AccountContext
	Effects  map[string]record.Efficacy // what was seen of changes, by their ids
	Storm    *record.Storm              // nil: it is an attack, not a storm
	Now      time.Time
}

// Suggestion is a button: what it runs is the line that a person could have typed.
type Suggestion struct {
	Label   string // short: a phone shows about 30 characters
	Line    record.Line
	Title   string // of the dialog that asks
	Confirm string // what it will do, for that dialog
	OK      string // the dialog's button that does it
	Danger  bool
	Form    bool   // opens a form with the line filled in, however much of it is missing; the label ends in "…"
	Stops   string // for the card: what it would stop and how soon; "": only what Closes says
	Closes  string // for the card: what closes the hole for all sources, and how soon; "": it doesn't
	Spoken  string // for those who hear the button, where its label isn't enough; "": the label
}
