package record

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// BlindFacts are what is told when an account can't be watched. The times are by the clock of the machine that watches.
type UnreachableFacts struct {
	Outage
	Mend     string    `json:"mend,omitempty"`     // what can be done, in words for people; "": nothing but to wait
	LastGood time.Time `json:"last_good,omitzero"` // zero: there never was a good poll
}

// GapFacts are what is told when an account is watched again. The times are by the service's clock.
type GapFacts struct {
	From       time.Time          `json:"from"`          // the last good poll before
	To         time.Time          `json:"to"`            // the first good one after
	Why        string             `json:"why,omitempty"` // in words for people; "": wafbot was not running, as far as is known
	Began      []apiclient.Attack `json:"began"`         // that have a card, the oldest first, at most 20
	BeganCount int                `json:"began_count"`   // all of these
	Gathered   int                `json:"gathered"`      // that began and that only a storm's card tells of
	Over       []apiclient.Attack `json:"over"`          // that are over and get no card, likewise
	OverCount  int                `json:"over_count"`
}

// Reason is why something about an attack is told.
type EventKind string

// The reasons.
const (
	NewIncident          EventKind = "new incident"
	NewAttack            EventKind = "new attack"
	BecameIncident       EventKind = "became incident" // told as an attack before
	Grew                 EventKind = "grew"            // redraws its card, silently
	Worsened             EventKind = "worsened"
	WentQuiet            EventKind = "quiet"
	Resumed              EventKind = "resumed"     // was quiet
	FirstStart           EventKind = "first start" // the one message of an account's first poll, about no attack
	ChangeSettled        EventKind = "changed"     // what people did about it; told by others than the poller
	StoreRebuilt         EventKind = "emptied"     // what is left after Memory was emptied, in each channel; about no attack
	APIUnreachable       EventKind = "blind"       // the account can't be watched; about no attack
	MonitoringGap        EventKind = "gap"         // it is watched again, or wafbot was not watching; about no attack
	PermissionLost       EventKind = "hands tied"  // the service refuses changes; no poll finds that
	ApprovalAsked        EventKind = "asked"       // a second person is asked for, or has answered; no poll finds that
	MitigationEnding     EventKind = "ends"        // a measure ends while its attack goes on; likewise
	EndOverdue           EventKind = "overdue"     // a measure can't be ended; likewise
	MitigationNotWorking EventKind = "no effect"   // a measure does nothing though it should; found by what polls see, and decided by others
	DeniedSourceReturned EventKind = "came back"   // what was denied until a denial expired; likewise
	PagerUnreachable     EventKind = "pager away"  // a pager can't be called; no poll finds that either
	CardLost             EventKind = "anew"        // an attack's card was deleted or can't be edited any more; likewise
	AttackEnded          EventKind = "course"      // what became of an attack that went quiet, or that it goes on again: for its thread; likewise
)

// News is one thing to tell.
type Event struct {
	ID       string            `json:"id"` // delivery id: any replica computes the same for the same news
	Account  string            `json:"account"`
	Attack   apiclient.Attack  `json:"attack"` // as it is now; zero for news about no attack
	Reason   EventKind         `json:"reason"`
	Revision int               `json:"revision"`
	Channel  string            `json:"channel"`           // where its card is or goes
	Mention  string            `json:"mention,omitempty"` // the user or user group of its route; "": nobody
	Hushed   bool              `json:"hushed,omitempty"`  // nobody is to be called now, whoever is on it
	After    string            `json:"after,omitempty"`   // of Anew only: CHANNEL TS of the card whose place it takes
	Quiet    bool              `json:"quiet,omitempty"`   // the attack is over, also when it is new: caught up after an absence
	At       time.Time         `json:"at"`                // of the poll that saw it, on the service's clock
	Storm    *Storm            `json:"storm,omitempty"`   // of a storm; nil: the news is about an attack, or none
	First    *FirstStartFacts  `json:"first,omitempty"`   // of FirstStart only
	Recall   *RebuildFacts     `json:"recall,omitempty"`  // of Emptied only
	Blind    *UnreachableFacts `json:"blind,omitempty"`   // of Blind only
	Gap      *GapFacts         `json:"gap,omitempty"`     // of Gap only
	Fault    string            `json:"fault,omitempty"`   // of PagerAway only: why, for people
}

// Rank orders news: incidents first, then what calls people, storms and what wafbot did not see, then attacks, then state, then figures.
func (n Event) Rank() int {
	switch {
	case n.Reason == FirstStart || n.Reason == StoreRebuilt:
		return 0
	case n.Reason == NewIncident || n.Reason == BecameIncident:
		return 1
	case n.Storm != nil && n.Reason == NewAttack: // it stands for many
		return 2
	case slices.Contains([]EventKind{Worsened, APIUnreachable, MonitoringGap, PermissionLost, PagerUnreachable, MitigationNotWorking, DeniedSourceReturned, MitigationEnding, EndOverdue, ChangeSettled, ApprovalAsked}, n.Reason): // a message that tells of a measure is what is left of it when Memory is emptied
		return 2
	case n.Reason == NewAttack:
		return 3
	case n.Reason == Resumed || n.Reason == WentQuiet || n.Reason == CardLost:
		return 4
	case n.Reason == AttackEnded:
		return 6 // an edit takes none of the channel's slots: a message that few wait for doesn't hold it up
	}
	return 5
}

// FirstStartFacts is what the first poll of an account found.
type FirstStartFacts struct {
	Ongoing   int `json:"ongoing"`   // attacks and incidents that are told now, silently
	Gathered  int `json:"gathered"`  // of them, those that a storm's card tells of: the others get one each
	Incidents int `json:"incidents"` // in the lookback, ongoing or over
}

// RecallFacts is what could be read back after Memory was emptied.
type RebuildFacts struct {
	Cards   int      `json:"cards"`              // in the news' channel
	InForce int      `json:"in_force"`           // measures, told in the news' channel
	Listed  int      `json:"listed,omitempty"`   // measures in force that no message told of, found on the service's lists
	Unknown []string `json:"unknown,omitempty"`  // ids of changes that were told and of which it isn't known what they did
	NoLists bool     `json:"no_lists,omitempty"` // the service's lists could not be read
	Unread  []string `json:"unread,omitempty"`   // ids of channels that could not be read
	Blind   bool     `json:"blind,omitempty"`    // no channel could be read: perhaps nothing was ever told
}
