package record

import (
	"time"
)

// Drill tests whether a responder answers a card, and how long each step takes. It never touches the service.
type Drill struct {
	ID      string        `json:"id"`
	Account string        `json:"account"`
	By      Actor         `json:"by"`
	At      time.Time     `json:"at"`               // asked
	Until   time.Time     `json:"until"`            // it should be answered by then
	Redis   time.Duration `json:"redis"`            // one round trip
	Answer  *DrillAnswer  `json:"answer,omitempty"` // nil: it was not answered
	Over    time.Time     `json:"over,omitzero"`    // it ended without an answer
	Audited int64         `json:"audited"`          // the number of its begin in the audit log; 0: it isn't known there
	Card    DrillCard     `json:"card"`
}

// DrillAnswer is the person who answered a drill, and when.
type DrillAnswer struct {
	By      Actor     `json:"by"`
	Clicked time.Time `json:"clicked,omitzero"` // by Slack's clock; zero: it was typed
	Taken   time.Time `json:"taken"`            // wafbot received it
	InHand  time.Time `json:"in_hand"`          // it was written down, and a replica had begun with it
}

// DrillCard is what Slack showed of a drill. The notifier writes it, the command the rest.
type DrillCard struct {
	Drill   string        `json:"drill,omitempty"` // its id; "": nothing was shown yet
	Channel string        `json:"channel,omitempty"`
	TS      string        `json:"ts,omitempty"`
	Posted  time.Time     `json:"posted,omitzero"` // Slack had it
	Found   time.Duration `json:"found,omitempty"` // it took to find it again by what it carries; 0: it wasn't found
	Fault   string        `json:"fault,omitempty"` // why not, for people
	Shown   time.Time     `json:"shown,omitzero"`  // it showed how the drill ended
}

// Waits reports whether it can still be answered.
func (d Drill) Waits() bool { return d.ID != "" && d.Answer == nil && d.Over.IsZero() }
