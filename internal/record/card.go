package record

import (
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// AttackDetails is what is stored about an attack, from which its card is drawn.
type AttackDetails struct {
	State    AttackState         // as its poller saved it; zero: it isn't stored
	Changes  []Change            // all of the account's, the newest first
	Efficacy map[string]Efficacy // of changes, by their ids
	Triage   Triage
	Context  AccountContext
	Page     Page      // the last one; zero: its pager was never called
	LastGood time.Time // the last good poll, on the service's clock; zero: there was none
	Outage   Outage    // that goes on; zero: the account can be polled
	Card     Place     // zero: it has none
}

// Attempt is what is stored of the attempts to post a delivery when another is begun.
type Attempt struct {
	First    time.Time // when it was first tried
	Again    bool      // it was tried before: the caller verifies before it resends
	Notified bool      // its message was posted, or found, already
	At       Place     // where; zero: not known, or it has no message of its own
}

// Place is where an attack's card is.
type Place struct {
	Channel, TS string // as Slack names them
	Delivery    string // the delivery id of a card that took another one's place; "": it is the attack's first
}

// ReadPlace reads a place as String writes it; what is none is no place.
func ReadPlace(text string) (p Place) {
	p.Channel, text, _ = strings.Cut(text, " ")
	if p.TS, p.Delivery, _ = strings.Cut(text, " "); p.TS == "" {
		return Place{}
	}
	return p
}

// Message is the place without the delivery id: CHANNEL TS; "" if there is no card.
func (p Place) Message() string { return strings.TrimSpace(p.Channel + " " + p.TS) }

// String is the place as it is stored: CHANNEL TS, and the delivery id if there is one.
func (p Place) String() string { return strings.TrimSpace(p.Message() + " " + p.Delivery) }

// Urgency is how soon a stale card is to be redrawn; the less, the sooner. Of two marks of a card the less stays.
type Urgency int

// The urgencies. The first three go before all others.
const (
	UrgentActed    Urgency = iota // a person acted, and expects it on the card
	UrgentIncident                // an incident's headline is another, or whom it rings
	UrgentState                   // the same for other attacks
	UrgentStorm                   // newer figures of a card that stands for many attacks
	UrgentGrown                   // those of an incident
	UrgentFigures                 // those of others
)

// Figures reports whether one card only lacks newer figures of one attack.
func (u Urgency) Figures() bool { return u >= UrgentGrown }

// RedrawMark says that an attack's card is stale.
type RedrawMark struct {
	Urgency Urgency   // the highest since the card was last drawn
	Since   time.Time // since when the card is stale, on Redis' clock; zero: unknown
	ID      string    // unique per mark: a slow redraw can't clear the mark of a newer change
	Request string    // what the log calls the request that the last mark came of; "": of none
}

// EditTurn is the next edit of one that waits for a right to edit in a workspace.
type EditTurn struct {
	Of   string    // who waits: an account, or a message that isn't a card
	Due  time.Time // of all that wait the earliest goes first
	Keep int       // how many more edits must be left for those that can't wait
}

// CardMetadata is what the metadata of an attack's card, and of a reply under it that it got worse, says of the attack.
// Its state is rebuilt from it after Redis was emptied.
type CardMetadata struct {
	AttackID string // as the service gave it
	Incident bool
	Severity Severity // the worst that it reached; "": of a reply, or a card from before it was kept
	Status   apiclient.Status
	Decade   int // decimal digits of the hits; 0: unknown
	Quiet    bool
	Channel  string // where it was read: the metadata doesn't hold it
	Mention  string // "": none
}

// Worsened is the card's metadata after a reply under it that the attack got worse: the card may not have been redrawn
// since.
func (m CardMetadata) Worsened(reply CardMetadata) CardMetadata {
	m.Incident, m.Decade = m.Incident || reply.Incident, max(m.Decade, reply.Decade)
	before, _ := m.Status.PassRank()
	if now, known := reply.Status.PassRank(); known && now >= before {
		m.Status = reply.Status
	}
	return m
}
