package record

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Evidence is what an attack with a card looked like when it was read: the service's record goes on changing.
type Evidence struct {
	First      Observation `json:"first"`                // when wafbot read it first
	Late       bool        `json:"late,omitempty"`       // the first observation was lost: First is a later one
	Peak       *Peak       `json:"peak,omitempty"`       // nil: it was not read twice yet
	Milestones []Milestone `json:"milestones,omitempty"` // the oldest first, at most 30
	Dropped    int         `json:"dropped,omitempty"`    // milestones that were left out of the middle
}

// Observation is what an attack looked like when it was read.
type Observation struct {
	At     time.Time        `json:"at"`     // on the service's clock
	Attack apiclient.Attack `json:"attack"` // as Brief makes it
}

// Peak is the observation before which hits came fastest.
type Peak struct {
	Observation
	Since     time.Time `json:"since"`      // of the observation before
	PerMinute int64     `json:"per_minute"` // hits
}

// Milestone is an event of an attack that was more than newer figures.
type Milestone struct {
	At     time.Time        `json:"at"` // of the poll, on the service's clock
	Kind   EventKind        `json:"kind"`
	Hits   apiclient.Figure `json:"hits"`
	Status apiclient.Status `json:"status"`
}

// AttackDelta is a record that changed.
type AttackDelta struct {
	Before *apiclient.Attack // nil: the record was not listed, or that isn't known
	Now    apiclient.Attack
}
