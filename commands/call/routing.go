package call

import (
	"time"
)

// Routing is where an attack goes by the configured routes, and where its card is.
type Routing struct {
	Tried    []TriedRoute `json:"tried"`             // in their order; none behind the one that takes it
	Channel  string       `json:"channel,omitempty"` // of the route that takes it; "": none does
	Mention  string       `json:"mention,omitempty"` // the user or user group that it calls; "": nobody
	Notified bool         `json:"told"`              // the attack has a card, or is about to
	Kept     bool         `json:"kept,omitempty"`    // and Channel and Mention aren't those that were chosen at its first telling, which are kept
	Card     string       `json:"card,omitempty"`    // the channel that its card is in; "": in none

	Calls        string        `json:"calls,omitempty"`         // whom news about it mentions: chosen at first telling and kept, until then Mention; "": nobody
	MentionEvery time.Duration `json:"mention_every,omitempty"` // likewise: the least time between two mentions about it
	MentionedAt  time.Time     `json:"called_at,omitzero"`      // news about it last mentioned somebody, or would have; zero: never
	Quiet        string        `json:"quiet_hours,omitempty"`   // as 22:00-07:00; "": there are none
	Zone         string        `json:"zone,omitempty"`          // of Quiet
	QuietNow     bool          `json:"hush,omitempty"`          // it is one of those hours, and the attack mentions nobody in them
	Suppressed   bool          `json:"hushed,omitempty"`        // nobody was mentioned because of them

	PageAfter time.Duration `json:"page_after,omitempty"` // its pager is called when nobody is on it for so long; 0: it has none
	PagedAt   time.Time     `json:"paged_at,omitzero"`    // the pager last took a call; zero: never
}

// TriedRoute is a route held against an attack.
type TriedRoute struct {
	Match string `json:"match"`         // what it takes, as the configuration says it
	Not   string `json:"not,omitempty"` // the key of Match that does not hold; "": it takes the attack
}
