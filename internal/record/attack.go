package record

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Baseline is what worsening is measured by. The attack as last shown can't serve: each redraw moves it, and one
// answer that leaves a field out would wipe the field.
type Baseline struct {
	Hits     apiclient.Figure `json:"hits"`               // when people were last called
	Status   apiclient.Status `json:"status,omitempty"`   // the last one that was known
	Incident bool             `json:"incident,omitempty"` // ever
}

// Point is how many hits an attack had by a moment, as it was told.
type HitPoint struct {
	At   int64 `json:"t"` // Unix seconds, on the service's clock: of its last hit
	Hits int64 `json:"h"` // since it began
}

// named is a storm that begins, with its id.
func (s AttackState) Named(id string) AttackState {
	s.Attack.ID = id
	return s
}

// Shown is one attack as it was last decided about.
type AttackState struct {
	Attack   apiclient.Attack `json:"attack"`             // as it was when it was last news, or first seen
	SeenAt   time.Time        `json:"seen_at"`            // when Attack was read, on the service's clock
	Revision int              `json:"revision"`           // counts the news about it
	Course   []HitPoint       `json:"course,omitempty"`   // of its hits, the oldest first, at most 30
	Found    time.Time        `json:"found,omitzero"`     // when it was first found to be told, on the clock of the machine that watched
	Told     bool             `json:"told,omitempty"`     // it has a card, or is about to
	Quiet    bool             `json:"quiet,omitempty"`    // and the card says so
	Channel  string           `json:"channel,omitempty"`  // of its card: chosen at first telling and kept until it becomes an incident
	Mention  string           `json:"mention,omitempty"`  // likewise; "": nobody
	Spared   string           `json:"spared,omitempty"`   // whom the route calls, where nobody was: it went on before the first start, or it was quiet hours; called when it gets worse
	Hushed   bool             `json:"hushed,omitempty"`   // Spared was not called because of quiet hours, and nobody has been since
	Every    time.Duration    `json:"every,omitempty"`    // the least time between two mentions
	CalledAt time.Time        `json:"called_at,omitzero"` // when news about it last called, on the service's clock; zero: never
	Base     Baseline         `json:"base"`               // what worsening is measured by
	Pager    *Pager           `json:"pager,omitempty"`    // that its route calls when nobody is on it; nil: none
	Storm    *Storm           `json:"storm,omitempty"`    // of a storm; nil: it is an attack
	In       string           `json:"in,omitempty"`       // the id of the storm that gathered it; "": none did
	Own      bool             `json:"own,omitempty"`      // gathered, and yet it has a card of its own by now
	Recalled bool             `json:"recalled,omitempty"` // read back from its card: of Attack only the id is known, until it is seen again
}

// Pager is the pager that is called for an attack when nobody is on it. It is chosen when the attack is first told, and anew when it becomes
// an incident.
type Pager struct {
	Route string        `json:"route"`          // the route's match, as Match.String has it
	After time.Duration `json:"after"`          // so long after it was told
	Told  time.Time     `json:"told"`           // on this machine's clock
	Worse time.Time     `json:"worse,omitzero"` // when it last became worse, likewise
}

// gathered reports whether only a storm's card tells of the attack.
func (s AttackState) Gathered() bool { return s.In != "" && !s.Own }
