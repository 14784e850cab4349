// Package record defines each stored record and each event once. It reads and writes nothing.
package record

import (
	"context"
	"time"
)

// Earlier is the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// DueDecision is the outcome of checking a change whose end is near or past.
type DueDecision struct {
	Change Change
	Next   time.Time // when to check again; zero: no more
	Asks   bool      // people are asked whether it is to hold longer, or told that it has ended where they weren't asked in time
	Late   bool      // people are notified that its end is overdue
	Ended  bool      // it ended by itself, which its attack's card is to show
	Listed bool      // people are told that the service still lists what it was to delete, or not what it was to make
	Seen   bool      // it was verified that a mode's rule is the only one, which the change notes
}

// Ask decides whether people are asked about the change: once for each end.
func (l *DueDecision) Ask(wanted bool) {
	if l.Asks = wanted && !l.Change.Asked.Equal(l.Change.Until); l.Asks {
		l.Change.Asked = l.Change.Until
	}
}

// Lane is what one person asks on one account: it is carried out in the order in which it was accepted.
type Lane struct {
	Account string // "": any, or none
	Team    string // as Actor.Team
	User    string // as Actor.ID: each redelivery tells it, whatever the configuration is by then
}

// Saves is what is written of an account in one step. What is left out stays as it is.
type Saves struct {
	Changes   []Change // new or again, with the times at which they are due; the cards of their attacks are stale
	Due       []DueDecision
	Request   *ApprovalRequest // new or again, with the time at which it is due
	Loss      *PermissionLoss
	Triage    map[string]Triage // by attack, until that is deleted; its card is stale
	Mutes     *[]Mute           // all, until the last of them is over
	Protected *[]Protected      // all
	Locked    *time.Time        // when the service said that its rules are locked, for a while; zero: they are no longer
	Drill     *Drill
	Stale     []string // attacks whose cards are
	Events    []Event
	Entry     *AuditEntry
}

type requestKey struct{}

// WithRequest makes what is logged with the context name the request; "": it changes nothing.
func WithRequest(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf is the request that a context is of; "": of none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
