package record

import (
	"time"
)

// Urgency orders the cards that have to be drawn again; the less, the sooner.
type Urgency int

// The urgencies.
const (
	UrgentActed    Urgency = iota // something was done: whoever did it looks for it on the card
	UrgentStorm                   // one card stands for many attacks
	UrgentIncident                // whatever is new about an incident
	UrgentState                   // quiet, resumed, called, got worse
	UrgentGrown                   // figures of an incident that merely grew: as soon as what is new about it
	UrgentFigures                 // those of others
)

// Figures reports whether a card lacks nothing but newer figures.
func (u Urgency) Figures() bool { return u >= UrgentGrown }

// Mark says that an attack's card no longer shows what is stored.
type RedrawMark struct {
	Urgency Urgency   // the highest since the card was drawn
	Since   time.Time // when the first of it was stored, on the memory's clock; zero: unknown
	ID      string    // no mark is like an earlier one, so that who drew for an earlier one can't take it away
}
