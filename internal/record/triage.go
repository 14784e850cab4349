package record

import (
	"time"
)

// Case is what people said about an attack, and who of them is on it.
type Triage struct {
	Owner     *Owner    `json:"owner,omitempty"`   // nil: nobody
	UnackedAt time.Time `json:"released,omitzero"` // when the last owner left it; zero: none ever did
	Verdict   *Verdict  `json:"verdict,omitempty"`
	Notes     []Note    `json:"notes,omitempty"` // the oldest first
}

// Owner is who is on an attack.
type Owner struct {
	ID    string    `json:"id"`   // as Actor has it
	Name  string    `json:"name"` // for people
	Since time.Time `json:"since"`
	By    Actor     `json:"by"`             // the owner, or who handed it over
	From  string    `json:"from,omitempty"` // the id of who had it before it was handed over; "": nobody
	// FromName is for people; "" where only the id was kept.
	FromName string `json:"from_name,omitempty"`
	Note     string `json:"note,omitempty"` // the id of the note that it was handed over with
}

// Verdict is what a person found an attack to be.
type Verdict struct {
	Is string    `json:"is"` // real, false_positive or test
	By Actor     `json:"by"`
	At time.Time `json:"at"`
}

// Note is what a person wrote about an attack.
type Note struct {
	ID   string    `json:"id"` // the same request has the same
	By   Actor     `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
