package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// EventKind names what happened.
type EventKind string

// The kinds of events.
const (
	NewIncident          EventKind = "new incident"
	NewAttack            EventKind = "new attack"
	BecameIncident       EventKind = "became incident" // notified as an attack before
	Grew                 EventKind = "grew"            // redraws its card, silently
	Worsened             EventKind = "worsened"
	WentQuiet            EventKind = "quiet"
	Resumed              EventKind = "resumed"      // it was quiet, or paused
	AttackEnded          EventKind = "attack ended" // for the card's thread
	CardLost             EventKind = "card lost"    // the card was deleted or can't be edited any more
	CardLeft             EventKind = "card left"    // a former card that has a successor can't be edited
	FirstStart           EventKind = "first start"
	StoreRebuilt         EventKind = "store rebuilt"
	APIUnreachable       EventKind = "api unreachable"
	MonitoringGap        EventKind = "monitoring gap" // the account is watched again
	PermissionLost       EventKind = "permission lost"
	ApprovalAsked        EventKind = "approval"
	ChangeSettled        EventKind = "change"
	MitigationEnding     EventKind = "ending"      // its attack goes on
	EndOverdue           EventKind = "end overdue" // the change can't be ended
	MitigationNotWorking EventKind = "not working"
	DeniedSourceReturned EventKind = "source returned" // after its denial expired
	HandedOver           EventKind = "handed over"
	TookOver             EventKind = "took over" // of all attacks of the account
	AckLapsed            EventKind = "acknowledgement lapsed"
	PagerUnreachable     EventKind = "pager unreachable"
	ForeignRecords       EventKind = "foreign records" // the service answers with those of other clients
	DrillChanged         EventKind = "drill"
	SummaryDue           EventKind = "summary due"
)

// Name is the kind as programs write it: new_incident.
func (k EventKind) Name() string { return strings.ReplaceAll(string(k), " ", "_") }

// kinds are all kinds of events, with the rank and the detail of each.
var kinds = map[EventKind]struct {
	rank int
	read func(text []byte) (Detail, error)
}{
	NewIncident:          {1, decode[AttackFacts]},
	NewAttack:            {3, decode[AttackFacts]},
	BecameIncident:       {1, decode[AttackFacts]},
	Grew:                 {5, decode[AttackFacts]},
	Worsened:             {2, decode[AttackFacts]},
	WentQuiet:            {4, decode[AttackFacts]},
	Resumed:              {2, decode[AttackFacts]},
	AttackEnded:          {6, decode[AttackFacts]}, // an edit takes none of the channel's slots: a message that few wait for doesn't hold it up
	CardLost:             {4, decode[AttackFacts]},
	CardLeft:             {5, decode[AttackFacts]},
	FirstStart:           {0, decode[FirstStartFacts]},
	StoreRebuilt:         {0, decode[RebuildFacts]},
	APIUnreachable:       {2, decode[UnreachableFacts]},
	MonitoringGap:        {2, decode[GapFacts]},
	PermissionLost:       {2, decode[PermissionChanged]},
	ApprovalAsked:        {2, decode[ApprovalChanged]},
	ChangeSettled:        {2, decode[ChangeFacts]}, // its message is what is left of the change after Redis was emptied
	MitigationEnding:     {2, decode[ChangeFacts]},
	EndOverdue:           {2, decode[ChangeFacts]},
	MitigationNotWorking: {2, decode[ChangeFacts]},
	DeniedSourceReturned: {2, decode[ChangeFacts]},
	HandedOver:           {5, decode[AttackFacts]},
	TookOver:             {5, decode[AttackFacts]},
	AckLapsed:            {2, decode[AttackFacts]},
	PagerUnreachable:     {2, decode[PagerFault]},
	ForeignRecords:       {2, decode[ForeignFacts]},
	DrillChanged:         {5, decode[DrillFacts]},
	SummaryDue:           {5, func([]byte) (Detail, error) { return nil, nil }}, //nolint:nilnil // it has none
}

// Event is something that happened and may be posted. It names what it is about, and repeats nothing that is stored of
// that: the notifier reads it when it posts.
type Event struct {
	ID      string    `json:"id"` // delivery id: any replica computes the same for the same event
	Account string    `json:"account"`
	Kind    EventKind `json:"kind"`
	Subject string    `json:"subject,omitempty"` // the attack that it is about, as the service names it, or the storm; "": none
	Channel string    `json:"channel"`           // where its card is or goes
	At      time.Time `json:"at"`                // on the service's clock for what a poll found, else on this machine's
	Order   int       `json:"order,omitempty"`   // the revision of what it is about, for events of the same time; 0: it has none
	Detail  Detail    `json:"detail,omitempty"`
	Request string    `json:"request_id,omitempty"` // what the log calls the request that it came of; "": of none

	Attack *AttackState `json:"-"` // what is stored of Subject, where that is at hand: nil after the event was read
}

// PrintedEvent is an event as it is written to standard output: docs/events.md says what others may rely on.
type PrintedEvent struct {
	Event  eventFacts `json:"event"`
	ID     string     `json:"id"`     // the same each time that it is written, and no other event's
	Schema int        `json:"schema"` // the version of this format
}

type eventFacts struct {
	Kind     string    `json:"kind"`
	Account  string    `json:"account"`
	At       time.Time `json:"at"`
	Channel  string    `json:"channel"`
	Attack   string    `json:"attack,omitempty"` // its id, as people see it
	Severity Severity  `json:"severity,omitempty"`
	Order    int       `json:"order,omitempty"`
	Request  string    `json:"request_id,omitempty"`
	Detail   Detail    `json:"detail,omitempty"`
}

// printedAttack is the detail of an event with what is stored of its attack.
type printedAttack struct {
	Attack *apiclient.Attack `json:"attack"`
	Quiet  bool              `json:"quiet,omitempty"`
	Storm  *Storm            `json:"storm,omitempty"`
	AttackFacts
}

// Print is an event as it is printed, with what is at hand of its attack.
func (e Event) Print() PrintedEvent {
	facts := eventFacts{
		Kind: e.Kind.Name(), Account: e.Account, At: e.At.UTC(), Channel: e.Channel, Severity: e.Severity(),
		Order: e.Order, Request: e.Request, Detail: e.Detail,
	}
	if e.Subject != "" {
		facts.Attack = AttackID(e.Account, e.Subject)
	}
	if said, ok := e.Detail.(AttackFacts); ok && e.Attack != nil {
		facts.Detail = printedAttack{&e.Attack.Attack, e.Attack.Quiet, e.Attack.Storm, said}
	}
	return PrintedEvent{facts, DeliveryID(e.Account, e.ID, e.Kind, 0), 1}
}

// UnmarshalJSON reads an event with the detail of its kind. An unknown kind is an error.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	var read struct {
		plain

		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	kind, ok := kinds[read.Kind]
	if !ok {
		return fmt.Errorf("read event %s: unknown event kind %q", read.ID, read.Kind)
	}
	detail, err := kind.read(read.Detail)
	if err != nil {
		return fmt.Errorf("read event %s: %w", read.ID, err)
	}
	*e = Event(read.plain)
	e.Detail = detail
	return nil
}

// Said is the detail of an event about an attack; zero for other events.
func (e Event) Said() AttackFacts {
	said, _ := e.Detail.(AttackFacts)
	return said
}

// Subjects are the attacks that are drawn for an event. They stay stored until it is notified.
func (e Event) Subjects() []string {
	gap, _ := e.Detail.(GapFacts)
	return append(slices.Concat(gap.Began, gap.Over), e.Subject)
}

// Severity is the worst that the event's attack reached, as far as that is at hand; "" if it is about none.
func (e Event) Severity() Severity {
	if e.Attack == nil {
		return ""
	}
	return Worst(e.Attack.Severity, SeverityOf(e.Attack.Attack))
}

// Rank orders events: incidents first, then what mentions people, storms and monitoring gaps, then attacks, then state,
// then figures.
func (e Event) Rank() int {
	if e.Kind == NewAttack && IsStorm(e.Subject) { // it stands for many
		return kinds[Worsened].rank
	}
	return kinds[e.Kind].rank
}

// DeliveryID makes an event's id from what it is about. It is the first half of a SHA-256. The JSON of a list keeps the
// parts apart, whatever they hold.
func DeliveryID(account, subject string, kind EventKind, revision int) string {
	parts, _ := json.Marshal([]any{account, subject, kind, revision}) // strings and an int always encode
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// CardDelivery is the delivery id of an attack's card, and of the event that the attack began: there is one card,
// whichever event is notified first.
func CardDelivery(account, attackID string) string { return DeliveryID(account, attackID, "card", 1) }

// What the delivery id of a card begins with that replaces another one, which was deleted, or stands and can't be
// edited any more.
const (
	reposted = "reposted-"
	replaces = "replaces-"
)

// NewCardLost is the event that an attack's card was deleted, or that it stands and can't be edited any more. Its id is
// the delivery id of the card that replaces it.
func NewCardLost(account string, a AttackState, former Place, stands bool, at time.Time) Event {
	kind := reposted
	if stands {
		kind = replaces
	}
	return Event{
		ID:      kind + DeliveryID(account, a.Attack.ID, EventKind("card after "+former.Message()), 1),
		Account: account, Kind: CardLost, Subject: a.Attack.ID, Channel: former.Channel, At: at,
		Detail: AttackFacts{Former: former.Message()}, Attack: &a,
	}
}

// Reposted reports whether a card's delivery id is one of NewCardLost's; stands, whether the former card is still
// there.
func Reposted(delivery string) (again, stands bool) {
	stands = strings.HasPrefix(delivery, replaces)
	return stands || strings.HasPrefix(delivery, reposted), stands
}

// Detail is what an event says that no stored record does. Each kind has one type, of those that follow.
type Detail any

// AttackFacts is what an event about an attack or a storm says that isn't stored of it.
type AttackFacts struct {
	Mention    string `json:"mention,omitempty"`    // the user or user group of its route; "": none
	Suppressed bool   `json:"suppressed,omitempty"` // it mentions no one now, also not its owner
	Former     string `json:"former,omitempty"`     // CHANNEL TS of the former card, of CardLost and CardLeft
	To         string `json:"to,omitempty"`         // user id of the owner (HandedOver, TookOver), or of the former one (AckLapsed)
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
	Over       []string  `json:"over"`          // that are over and get no card, listed like Began
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
