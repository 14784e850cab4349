package record

import (
	"encoding/json"
	"fmt"
	"time"
)

// Detail is what an event says that no stored record does. Each kind has one type, of those that follow.
type Detail any

// AttackFacts is what an event about an attack or a storm says beside what is stored of that by now.
type AttackFacts struct {
	Mention    string `json:"mention,omitempty"`    // the user or user group of its route; "": none
	Suppressed bool   `json:"suppressed,omitempty"` // it mentions no one now, also not its owner
	Former     string `json:"former,omitempty"`     // CHANNEL TS of the former card, of CardLost and CardLeft
	To         string `json:"to,omitempty"`         // user id of the owner, of HandedOver and TookOver; of AckLapsed of who was
}

// ChangeFacts names a change. The notifier reads it again: it may have changed meanwhile.
type ChangeFacts struct {
	Change string    `json:"change"`         // its id
	Until  time.Time `json:"until,omitzero"` // the end that MitigationEnding and EndOverdue are about
}

// PermissionChanged names a permission loss.
type PermissionChanged struct {
	Since time.Time `json:"since"` // when the permission was lost
}

// ApprovalChanged names an approval request.
type ApprovalChanged struct {
	Request string `json:"request"` // its id
}

// DrillFacts names a test card of a drill that is to be posted, or was acknowledged.
type DrillFacts struct {
	Drill  string `json:"drill"`            // its id
	Card   int    `json:"card"`             // its place among the drill's
	Report bool   `json:"report,omitempty"` // the report is to be posted in its thread, when the drill is over
}

// PagerFault says why a route's pager can't be called.
type PagerFault struct {
	Route string `json:"route"` // its match
	Why   string `json:"why"`   // for people
}

// ForeignFacts says how often the service answered with another client's record.
type ForeignFacts struct {
	Records int64 `json:"records"` // since this replica started
}

// UnreachableFacts says why an account can't be watched. Times are by the clock of the machine that watches.
type UnreachableFacts struct {
	Outage

	Fix      string    `json:"fix,omitempty"`      // what can be done, in words for people; "": nothing but to wait
	LastGood time.Time `json:"last_good,omitzero"` // zero: there never was a good poll
}

// GapFacts says what happened while an account was not watched. Times are by the service's clock.
type GapFacts struct {
	From       time.Time `json:"from"`          // the last good poll before
	To         time.Time `json:"to"`            // the first good one after
	Why        string    `json:"why,omitempty"` // in words for people; "": wafbot was not running, as far as is known
	Began      []string  `json:"began"`         // attacks that have a card, as the service names them, the oldest first, at most 20
	BeganCount int       `json:"began_count"`   // all of these
	Grouped    int       `json:"grouped"`       // that began and that only a storm's card shows
	Over       []string  `json:"over"`          // that are over and get no card, likewise
	OverCount  int       `json:"over_count"`
}

// FirstStartFacts is what the first poll of an account found.
type FirstStartFacts struct {
	Ongoing   int `json:"ongoing"`   // attacks and incidents that are notified now, silently
	Grouped   int `json:"grouped"`   // of them, those that a storm's card shows: the others get one each
	Incidents int `json:"incidents"` // in the lookback, ongoing or over
}

// RebuildFacts is what could be read back after the store was emptied.
type RebuildFacts struct {
	Cards      int      `json:"cards"`                // in the event's channel
	InForce    int      `json:"in_force"`             // mitigations with a message in the event's channel
	Listed     int      `json:"listed,omitempty"`     // mitigations in force without a message, found on the service's lists
	Unknown    []string `json:"unknown,omitempty"`    // ids of changes that have a message, and whose effect isn't known
	NoLists    bool     `json:"no_lists,omitempty"`   // the service's lists could not be read
	Unread     []string `json:"unread,omitempty"`     // ids of channels that could not be read
	Unreadable bool     `json:"unreadable,omitempty"` // no channel could be read: perhaps nothing was ever posted
}

func decode[D Detail](text []byte) (Detail, error) {
	var d D
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read detail: %w", err)
	}
	return d, nil
}
