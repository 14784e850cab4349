package commands

import (
	"context"
	"time"
)

// Request is a change that waits for a second person.
type Request struct {
	ID        string       `json:"id"`
	Account   string       `json:"account"`
	Line      Line         `json:"line"`             // canonical, with everything filled in, without the account
	Does      string       `json:"does"`             // in words
	Needs     []Second     `json:"needs"`            // why one person alone may not
	AttackID  string       `json:"attack,omitempty"` // what it is for, as AttackID makes it
	Role      Role         `json:"role"`             // that the second person needs
	Asker     Actor        `json:"asker"`
	Reason    string       `json:"reason,omitempty"` // as the asker gave it
	At        time.Time    `json:"at"`
	Until     time.Time    `json:"until"` // it can be decided before then
	State     RequestState `json:"state"`
	Decided   *Actor       `json:"decided,omitempty"`
	DecidedAt time.Time    `json:"decided_at,omitzero"`
	Why       string       `json:"why,omitempty"` // for people: why it was rejected, or closed
}

// Second is one thing for which a policy wants a second person.
type Second struct {
	What string `json:"what"` // SecondForever and the like
	Why  string `json:"why"`  // for people
}

// RequestState is what became of a request.
type RequestState string

// The states of a request. One whose time is over still says that it waits: Waits tells.
const (
	RequestWaiting  RequestState = "waiting"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
	RequestClosed   RequestState = "closed" // what it was based on no longer held
	RequestAlone    RequestState = "alone"  // nobody answered, and the asker did it alone
)

// Waits reports whether a second person can still decide.
func (r Request) Waits(now time.Time) bool {
	return r.State == RequestWaiting && now.Before(r.Until)
}

// Requests remembers what waits for a second person.
type Requests interface {
	// Requests are the account's, the newest first, also those decided lately.
	Requests(ctx context.Context, account string) ([]Request, error)
}
