package record

import (
	"time"
)

// Page is one call of an attack's pager, which begins with a time in which nobody is on it.
type Page struct {
	ID            string    `json:"id"`     // what the pager knows it by
	Attack        string    `json:"attack"` // as AttackID makes it
	Route         string    `json:"route"`  // whose pager it is
	Since         time.Time `json:"since"`  // nobody has been on it
	Severity      string    `json:"severity"`
	Incident      bool      `json:"incident,omitempty"` // the attack was one when the pager was called
	State         PageState `json:"state"`
	TakenAt       time.Time `json:"taken_at,omitzero"` // the pager took the call
	EndedAt       time.Time `json:"ended_at,omitzero"` // it was to be ended
	Fault         string    `json:"fault,omitempty"`   // why it isn't taken yet, for people
	FaultNotified bool      `json:"said,omitempty"`    // and the account's channel was told so
}

// PageState is how far a page is. It is written down before what it names is done.
type PageState string

// The states of a page.
const (
	PageCalling PageState = "calling" // the pager is called, and called again until it has taken it
	PageEnding  PageState = "ending"  // the pager is told that it is over, likewise
	PageEnded   PageState = "ended"
)

// Open reports whether the pager has to be called, or may still call somebody.
func (p Page) Open() bool { return p.State == PageCalling || p.State == PageEnding }
