package record

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Evidence is what an attack that was told looked like, kept when it was seen: the service's record goes on changing.
type Evidence struct {
	First   Observation `json:"first"`             // when wafbot saw it first
	Late    bool        `json:"late,omitempty"`    // nothing was known any more of the first sight: First is a later one
	Peak    *Peak       `json:"peak,omitempty"`    // nil: it was not read twice yet
	Course  []Milestone `json:"course,omitempty"`  // the oldest first, at most 30
	Dropped int         `json:"dropped,omitempty"` // turns that were left out of the middle
}

// Sight is what an attack looked like when it was read.
type Observation struct {
	At     time.Time        `json:"at"`     // on the service's clock
	Attack apiclient.Attack `json:"attack"` // as Brief makes it
}

// Peak is the reading before which hits came faster than ever between two readings.
type Peak struct {
	Observation
	Since     time.Time `json:"since"`      // of the reading before
	PerMinute int64     `json:"per_minute"` // hits
}

// Turn is a piece of news about an attack that was more than its figures.
type Milestone struct {
	At     time.Time        `json:"at"` // of the poll, on the service's clock
	Kind   EventKind        `json:"reason"`
	Hits   apiclient.Figure `json:"hits"`
	Status apiclient.Status `json:"status"`
}

// Pair is a record that changed.
type AttackDelta struct {
	Before *apiclient.Attack // nil: the record was not listed, or that isn't known
	Now    apiclient.Attack
}
