package poller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Reason is why something about an attack is told.
type Reason string

// The reasons.
const (
	NewIncident    Reason = "new incident"
	NewAttack      Reason = "new attack"
	BecameIncident Reason = "became incident" // told as an attack before
	Grew           Reason = "grew"            // redraws its card, silently
	Worsened       Reason = "worsened"
	Quiet          Reason = "quiet"
	Resumed        Reason = "resumed"     // was quiet
	FirstStart     Reason = "first start" // the one message of an account's first poll, about no attack
	Changed        Reason = "changed"     // what people did about it; told by others than the poller
	Emptied        Reason = "emptied"     // what is left after Memory was emptied, in each channel; about no attack
	Blind          Reason = "blind"       // the account can't be watched; about no attack
	Gap            Reason = "gap"         // it is watched again, or wafbot was not watching; about no attack
	HandsTied      Reason = "hands tied"  // the service refuses changes; no poll finds that
	Asked          Reason = "asked"       // a second person is asked for, or has answered; no poll finds that
	Ends           Reason = "ends"        // a measure ends while its attack goes on; likewise
	Overdue        Reason = "overdue"     // a measure can't be ended; likewise
	NoEffect       Reason = "no effect"   // a measure does nothing though it should; found by what polls see, and decided by others
	CameBack       Reason = "came back"   // what was denied until a denial expired; likewise
	PagerAway      Reason = "pager away"  // a pager can't be called; no poll finds that either
	Anew           Reason = "anew"        // an attack's card was deleted or can't be edited any more; likewise
	Course         Reason = "course"      // what became of an attack that went quiet, or that it goes on again: for its thread; likewise
)

// Shown is one attack as it was last decided about.
type Shown struct {
	Attack   apiclient.Attack `json:"attack"`             // as it was when it was last news, or first seen
	SeenAt   time.Time        `json:"seen_at"`            // when Attack was read, on the service's clock
	Revision int              `json:"revision"`           // counts the news about it
	Course   []Point          `json:"course,omitempty"`   // of its hits, the oldest first, at most 30
	Found    time.Time        `json:"found,omitzero"`     // when it was first found to be told, on the clock of the machine that watched
	Told     bool             `json:"told,omitempty"`     // it has a card, or is about to
	Quiet    bool             `json:"quiet,omitempty"`    // and the card says so
	Channel  string           `json:"channel,omitempty"`  // of its card: chosen at first telling and kept until it becomes an incident
	Mention  string           `json:"mention,omitempty"`  // likewise; "": nobody
	Spared   string           `json:"spared,omitempty"`   // whom the route calls, where nobody was: it went on before the first start, or it was quiet hours; called when it gets worse
	Hushed   bool             `json:"hushed,omitempty"`   // Spared was not called because of quiet hours, and nobody has been since
	Every    time.Duration    `json:"every,omitempty"`    // the least time between two mentions
	CalledAt time.Time        `json:"called_at,omitzero"` // when news about it last called, on the service's clock; zero: never
	Base     Baseline         `json:"base"`               // what worsening is measured by
	Pager    *Pager           `json:"pager,omitempty"`    // that its route calls when nobody is on it; nil: none
	Storm    *Storm           `json:"storm,omitempty"`    // of a storm; nil: it is an attack
	In       string           `json:"in,omitempty"`       // the id of the storm that gathered it; "": none did
	Own      bool             `json:"own,omitempty"`      // gathered, and yet it has a card of its own by now
	Recalled bool             `json:"recalled,omitempty"` // read back from its card: of Attack only the id is known, until it is seen again
}

// News is one thing to tell.
type News struct {
	ID       string           `json:"id"` // delivery id: any replica computes the same for the same news
	Account  string           `json:"account"`
	Attack   apiclient.Attack `json:"attack"` // as it is now; zero for news about no attack
	Reason   Reason           `json:"reason"`
	Revision int              `json:"revision"`
	Channel  string           `json:"channel"`           // where its card is or goes
	Mention  string           `json:"mention,omitempty"` // the user or user group of its route; "": nobody
	Hushed   bool             `json:"hushed,omitempty"`  // nobody is to be called now, whoever is on it
	After    string           `json:"after,omitempty"`   // of Anew only: CHANNEL TS of the card whose place it takes
	Quiet    bool             `json:"quiet,omitempty"`   // the attack is over, also when it is new: caught up after an absence
	At       time.Time        `json:"at"`                // of the poll that saw it, on the service's clock
	Storm    *Storm           `json:"storm,omitempty"`   // of a storm; nil: the news is about an attack, or none
	First    *FirstStartFacts `json:"first,omitempty"`   // of FirstStart only
	Recall   *RecallFacts     `json:"recall,omitempty"`  // of Emptied only
	Blind    *BlindFacts      `json:"blind,omitempty"`   // of Blind only
	Gap      *GapFacts        `json:"gap,omitempty"`     // of Gap only
	Fault    string           `json:"fault,omitempty"`   // of PagerAway only: why, for people
}

// Rank orders news: incidents first, then what calls people, storms and what wafbot did not see, then attacks, then state, then figures.
func (n News) Rank() int {
	switch {
	case n.Reason == FirstStart || n.Reason == Emptied:
		return 0
	case n.Reason == NewIncident || n.Reason == BecameIncident:
		return 1
	case n.Storm != nil && n.Reason == NewAttack: // it stands for many
		return 2
	case slices.Contains([]Reason{Worsened, Blind, Gap, HandsTied, PagerAway, NoEffect, CameBack, Ends, Overdue, Changed, Asked}, n.Reason): // a message that tells of a measure is what is left of it when Memory is emptied
		return 2
	case n.Reason == NewAttack:
		return 3
	case n.Reason == Resumed || n.Reason == Quiet || n.Reason == Anew:
		return 4
	case n.Reason == Course:
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

// CardDelivery is the delivery id of an attack's card, and of the news that the attack began: there is one card, whichever news is told first.
func CardDelivery(account, attackID string) string { return deliveryID(account, attackID, "card", 1) }

// What the delivery id of a card begins with that took another one's place, which is gone, or stands and can't be edited any more.
const (
	anew  = "anew-"
	stuck = "stuck-"
)

// NewAnew is the news that an attack's card at a place, CHANNEL TS, is gone, or that it stands and can't be edited any more; its id is the delivery id of
// the card that takes its place.
func NewAnew(account string, a apiclient.Attack, channel, ts string, stands bool, at time.Time) News {
	place, kind := channel+" "+ts, anew
	if stands {
		kind = stuck
	}
	return News{ID: kind + deliveryID(account, a.ID, Reason("card after "+place), 1), Account: account, Attack: a, Reason: Anew, Channel: channel, At: at, After: place}
}

// PostedAnew reports whether a card's delivery id is one of NewAnew's; stands, whether the former card is still there.
func PostedAnew(delivery string) (anewed, stands bool) {
	stands = strings.HasPrefix(delivery, stuck)
	return stands || strings.HasPrefix(delivery, anew), stands
}

// deliveryID is the first half of a SHA-256. The JSON of a list keeps the parts apart, whatever they hold.
func deliveryID(account, attackID string, reason Reason, revision int) string {
	parts, _ := json.Marshal([]any{account, attackID, reason, revision}) // strings and an int always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}
