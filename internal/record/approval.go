package record

import (
	"time"
)

// ApprovalRequest is a change that needs approval, and what was decided about it.
type ApprovalRequest struct {
	ID           string           `json:"id"`
	Account      string           `json:"account"`
	Line         Line             `json:"line"`             // canonical, with everything filled in, without the account
	Does         string           `json:"does"`             // in words
	Needs        []ApprovalReason `json:"needs"`            // why it needs approval
	AttackID     string           `json:"attack,omitempty"` // what it is for, as AttackID makes it
	Role         Role             `json:"role"`             // that the approver needs
	Asker        Actor            `json:"asker"`
	Reason       string           `json:"reason,omitempty"` // as the asker gave it
	At           time.Time        `json:"at"`
	Until        time.Time        `json:"until"`                   // it can be decided before then
	OverrideAt   time.Time        `json:"override_at,omitzero"`    // from then on the asker may override; zero: never
	OverrideOpen bool             `json:"override_open,omitempty"` // that time has come, and the card says so
	Reach        []string         `json:"reach,omitempty"`         // for people: whom it hits, and what else there is to know
	Warnings     []string         `json:"warnings,omitempty"`      // for people: what speaks against it
	Premise      Premise          `json:"premise"`
	State        RequestState     `json:"state"`
	Decided      *Actor           `json:"decided,omitempty"`
	DecidedAt    time.Time        `json:"decided_at,omitzero"`
	Delivery     string           `json:"delivery,omitempty"` // of the decision: the same again goes on with it
	Outcome      string           `json:"outcome,omitempty"`  // of carrying it out, as Result has it, or failed; "": not done, or in hand
	Why          string           `json:"why,omitempty"`      // for people: why it was rejected, closed or overridden
	Fault        string           `json:"fault,omitempty"`    // for people: that it was not done, and why
	CheckAt      time.Time        `json:"check_at,omitzero"`  // when it is to be looked at next; zero: never
	Revision     int              `json:"revision"`           // counts how often it was stored
}

// ApprovalReason is one thing for which the policy requires approval.
type ApprovalReason struct {
	What string `json:"what"` // ApproveForever and the like
	Why  string `json:"why"`  // for people
}

// RequestState is what became of a request.
type RequestState string

// The states of a request. One whose time is over can still say that it waits: ask Waits.
const (
	RequestWaiting    RequestState = "waiting"
	RequestApproved   RequestState = "approved"
	RequestRejected   RequestState = "rejected"
	RequestClosed     RequestState = "closed"     // what it was based on no longer held, or it could not be carried out in time
	RequestExpired    RequestState = "expired"    // no answer came
	RequestOverridden RequestState = "overridden" // no answer came, and the asker overrode the approval
)

// Waits reports whether the request can still be decided.
func (r ApprovalRequest) Waits(now time.Time) bool {
	return r.State == RequestWaiting && now.Before(r.Until)
}

// InHand reports whether it was decided to do it and the outcome is not stored yet.
func (r ApprovalRequest) InHand() bool {
	return (r.State == RequestApproved || r.State == RequestOverridden) && r.Outcome == ""
}

// Premise is what the asker of a request saw: what would be sent, what stood there, and what was warned of. That is
// approved, and nothing else.
type Premise struct {
	Steps    []string  `json:"steps,omitempty"`    // without their ends, which move with the clock
	Before   []string  `json:"before,omitempty"`   // what they take the place of, or take away
	Warnings []string  `json:"warnings,omitempty"` // compared without free-standing figures, which grow with an attack
	Role     Role      `json:"role,omitempty"`     // the least role, where that depends on what stands there
	Ends     time.Time `json:"ends,omitzero"`      // of a change that is prolonged, whose end doesn't move with the clock
}
