package record

import (
	"time"
)

// Page is one call of an attack's pager, made because the attack is unacknowledged.
type Page struct {
	ID            string    `json:"id"`     // what the pager knows it by
	Attack        string    `json:"attack"` // as AttackID makes it
	Route         string    `json:"route"`  // whose pager it is
	Since         time.Time `json:"since"`  // unacknowledged since
	Severity      string    `json:"severity"`
	Incident      bool      `json:"incident,omitempty"` // the attack was one when the pager was called
	State         PageState `json:"state"`
	TakenAt       time.Time `json:"taken_at,omitzero"`        // the pager accepted the call
	EndedAt       time.Time `json:"ended_at,omitzero"`        // the call was to be resolved
	Fault         string    `json:"fault,omitempty"`          // why the pager didn't accept it yet, for people
	FaultNotified bool      `json:"fault_notified,omitempty"` // and the account's channel was notified of it
}

// PageState is how far a page is. It is stored before what it names is done.
type PageState string

// The states of a page.
const (
	PageCalling PageState = "calling" // the pager is called, and called again until it accepts
	PageEnding  PageState = "ending"  // the pager is asked to resolve, likewise
	PageEnded   PageState = "ended"
)

// Open reports whether the pager has to be called, or may still page people.
func (p Page) Open() bool { return p.State == PageCalling || p.State == PageEnding }
