package call

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
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
	Confirm Dialog // what it will do, for that dialog; none: nothing is asked
	OK      string // the dialog's button that does it
	Danger  bool
	Form    bool   // opens a form with the line filled in, however much of it is missing; the label ends in "…"
	Stops   string // for the card: what it would stop and how soon; "": only what Closes says
	Closes  string // for the card: what closes the hole for all sources, and how soon; "": it doesn't
	Spoken  string // for those who hear the button, where its label isn't enough; "": the label
}

// Dialog is what a dialog says before a button acts.
type Dialog []Sentence

// Sentence is one of a dialog's.
type Sentence struct {
	Text  string
	Spare int    // without room for all, the highest is left out first; 0: never
	Flag  string // where the dialog says this, the click isn't asked about it again: the line gets this flag; "": none
}

// In is the dialog with room for so many characters, and the button's line.
func (s Suggestion) In(room int) (confirm string, line record.Line) {
	d := slices.Clone(s.Confirm)
	for text.Length(d.String()) > room {
		i := 0
		for j, one := range d {
			if one.Spare > d[i].Spare {
				i = j
			}
		}
		if d[i].Spare == 0 {
			break
		}
		d = slices.Delete(d, i, i+1)
	}
	line = s.Line
	for _, said := range d {
		if said.Flag != "" {
			line.Flags = slices.Insert(slices.Clone(line.Flags), 0, said.Flag)
		}
	}
	return d.String(), line
}

func (d Dialog) String() string {
	var all []string
	for _, s := range d {
		all = append(all, s.Text)
	}
	return strings.Join(all, " ")
}
