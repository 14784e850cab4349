package record

import (
	"time"
)

// Urgency orders stale cards; the less, the sooner they are redrawn.
type Urgency int

// The urgencies.
const (
	UrgentActed    Urgency = iota // a person acted, and looks for it on the card
	UrgentStorm                   // one card stands for many attacks
	UrgentIncident                // whatever is new about an incident
	UrgentState                   // quiet, resumed, mentioned, got worse
	UrgentGrown                   // only newer figures of an incident
	UrgentFigures                 // those of others
)

// Figures reports whether a card only lacks newer figures.
func (u Urgency) Figures() bool { return u >= UrgentGrown }

// RedrawMark says that an attack's card is stale.
type RedrawMark struct {
	Urgency Urgency   // the highest since the card was last drawn
	Since   time.Time // since when the card is stale, on Redis' clock; zero: unknown
	ID      string    // unique per mark: a slow redraw can't clear the mark of a newer change
}
