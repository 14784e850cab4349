package call

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// TopTarget is the busiest source that the service lists for an attack, as a target.
func TopTarget(k *record.KnownAttack) (grammar.Target, bool) {
	top, _ := TopSource(k.Attack)
	return grammar.RangeOf(top.Range()), top.IP.IsValid()
}

// TopSource is the busiest of the attack's listed sources.
func TopSource(a apiclient.Attack) (apiclient.Source, bool) {
	if len(a.Sources) == 0 {
		return apiclient.Source{}, false
	}
	return slices.MaxFunc(a.Sources, func(x, y apiclient.Source) int { return int(x.Hits.N - y.Hits.N) }), true
}

// AttackRow is an attack with what people said about it.
type AttackRow struct {
	ID       string           `json:"id"`
	Account  string           `json:"account"`
	Ongoing  bool             `json:"ongoing"`
	Attack   apiclient.Attack `json:"attack"`
	Severity record.Severity  `json:"severity"` // as the record shows it, which keeps the worst
	Triage   record.Triage    `json:"triage,omitzero"`
	Card     string           `json:"card,omitempty"`     // where its card can be opened; "": not known
	Storm    string           `json:"storm,omitempty"`    // that grouped it; "" where that is not asked
	OwnCard  bool             `json:"own_card,omitempty"` // grouped, and it has a card of its own since
}

// AttackRow is an attack of the call's account as it is shown.
func (c *Call) AttackRow(attack apiclient.Attack, said record.Triage) AttackRow {
	return AttackRow{
		ID: record.AttackID(c.Account.Name, attack.ID), Account: c.Account.Name, Ongoing: c.Ongoing(attack),
		Attack: attack, Severity: said.Severity(record.SeverityOf(attack)), Triage: said,
	}
}

// StormRow is a storm with what people said about it.
type StormRow struct {
	ID      string           `json:"id"`
	Account string           `json:"account"`
	Attack  apiclient.Attack `json:"attack"` // put together from those that it grouped
	Storm   record.Storm     `json:"storm"`
	SeenAt  time.Time        `json:"seen_at"`         // on the service's clock
	Quiet   bool             `json:"quiet,omitempty"` // its attacks are over
	Triage  record.Triage    `json:"triage,omitzero"`
	Card    string           `json:"card,omitempty"` // where its card can be opened; "": not known
}

// StormRow is a storm of the call's account as it is shown.
func (c *Call) StormRow(s record.StormSeen, said record.Triage) StormRow {
	return StormRow{
		ID: s.ID, Account: c.Account.Name, Attack: s.Attack, Storm: s.Storm, SeenAt: s.SeenAt, Quiet: s.Quiet, Triage: said,
	}
}

// Situation is what is known of one attack: what its headline, advice, card and report follow from. They are facts of a
// short while ago, never read from the service for it.
type Situation struct {
	Account        *config.Account
	Policy         policy.Policy
	ID             string // as AttackID makes it
	Attack         apiclient.Attack
	Changes        []record.Change // made for this attack
	AccountChanges []record.Change // the account's, whatever they are for; nil: not at hand
	Entries        []apiclient.IPRule
	Rules          []apiclient.Rule
	ListsReadAt    time.Time // when entries and rules were read; zero: not yet
	Context        record.AccountContext
	Efficacy       map[string]record.Efficacy // what was seen of changes, by their ids
	Storm          *record.Storm              // nil: it is an attack, not a storm
	Severity       record.Severity            // the worst that it reached; "": not known
	Paused         bool                       // as AttackState has it, like the next four
	ResumedAt      time.Time
	Stopped        record.Stopped
	Others         []record.Mitigation
	GoesOn         bool
	Quiet          bool          // no hit and no stopped try for as long as an attack goes on
	Outage         record.Outage // in which the service can't be read; zero: it can
	Triage         record.Triage // owner, notes, verdict
	Now            time.Time

	// What its card says beside.
	Course     []record.HitPoint
	FiguresAt  time.Time     // when the attack's figures were read, or found unchanged, on the service's clock; zero: unknown
	Late       time.Duration // from when wafbot first found it worth a card to the card; 0: at once
	Rare       bool          // older facts stood there because nobody acts on the card, and there are too few edits for all
	StaleFor   time.Duration // how long the card showed older facts before this redraw; 0: not for long
	Runbook    string        // address; "": none
	Mention    string        // user or user group that the route mentions; "": none
	QuietHours bool          // for which the route mentions no one
	Reposted   bool          // it replaces a card that was deleted or can't be edited
	Uneditable bool          // with Reposted: the former card still stands
	Pager      PagerState    // of the route

	SharedChannel bool   // other accounts have cards in its channel, too
	Delivery      string // delivery id, for the metadata
}

// Unwatched reports whether an outage hides the attack. An attack that was over before isn't hidden: its card says when
// it was last hit.
func (s Situation) Unwatched() bool { return !s.Outage.From.IsZero() && !s.Quiet }

// PagerState is the state of a route's pager. At most one of its times is set.
type PagerState struct {
	At      time.Time // it is called then, unless acknowledged before; zero: it isn't
	PagedAt time.Time // it was called, and the attack is still unacknowledged; zero: it wasn't
	Fault   string    // why it can't be called
}

// As is the situation with what the poller last decided about the attack.
func (s Situation) As(shown record.AttackState) Situation {
	s.Severity, s.Paused, s.ResumedAt, s.Others, s.GoesOn = shown.Severity, shown.Paused, shown.ResumedAt, shown.Others,
		shown.GoesOn()
	s.Course, s.Mention, s.QuietHours = shown.History, shown.Mention, shown.Suppressed
	if shown.Stopped != nil {
		s.Stopped = *shown.Stopped
	}
	return s
}

// Made is the situation with the account's changes, the newest first.
func (s Situation) Made(all []record.Change) Situation {
	s.AccountChanges = all
	for _, ch := range slices.Backward(all) { // a card reads downwards
		if ch.AttackID == s.ID && ch.Parent() == "" {
			s.Changes = append(s.Changes, ch)
		}
	}
	return s
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
	Stops   string // under More: what it would stop and how soon
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
		if s.Text != "" {
			all = append(all, s.Text)
		}
	}
	return strings.Join(all, " ")
}

// Routing is where an attack goes by the configured routes, and where its card is.
type Routing struct {
	Tried    []TriedRoute `json:"tried"`             // in their order; none behind the one that takes it
	Channel  string       `json:"channel,omitempty"` // of the route that takes it; "": none does
	Mention  string       `json:"mention,omitempty"` // the user or user group that it mentions; "": none
	Notified bool         `json:"notified"`          // the attack has a card, or is about to
	Kept     bool         `json:"kept,omitempty"`    // and Channel and Mention aren't those that were chosen at its first notification, which are kept
	Card     string       `json:"card,omitempty"`    // the channel that its card is in; "": in none

	Calls       string    `json:"calls,omitempty"`       // whom its events mention: chosen at its first notification and kept, until then Mention; "": none
	MentionedAt time.Time `json:"mentioned_at,omitzero"` // an event of it last mentioned a person, or would have; zero: never
	Quiet       string    `json:"quiet_hours,omitempty"` // as 22:00-07:00; "": there are none
	Zone        string    `json:"zone,omitempty"`        // of Quiet
	QuietNow    bool      `json:"quiet_now,omitempty"`   // it is one of those hours, and the attack mentions no one in them
	Suppressed  bool      `json:"suppressed,omitempty"`  // a mention was left out because of them

	PageAfter time.Duration `json:"page_after,omitempty"` // its pager is called when it is unacknowledged for so long; 0: it has none
	PagedAt   time.Time     `json:"paged_at,omitzero"`    // the pager last took a call; zero: never
}

// TriedRoute is a route held against an attack.
type TriedRoute struct {
	Match string `json:"match"`         // what it takes, as the configuration says it
	Not   string `json:"not,omitempty"` // the key of Match that does not hold; "": it takes the attack
}

// Flags of lines whose dialog said what the click would else be asked about.
const (
	FlagShared = "shared" // the source is likely shared by many
	FlagLocked = "locked" // the rules are locked
)
