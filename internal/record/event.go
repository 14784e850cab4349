package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// kinds are all kinds of events, with the payload and the rank of each.
var kinds = map[EventKind]struct {
	rank int
	read func(text []byte) (Payload, error)
}{
	NewIncident:          {1, decode[AttackChanged]},
	NewAttack:            {3, decode[AttackChanged]},
	BecameIncident:       {1, decode[AttackChanged]},
	Grew:                 {5, decode[AttackChanged]},
	Worsened:             {2, decode[AttackChanged]},
	WentQuiet:            {4, decode[AttackChanged]},
	Resumed:              {2, decode[AttackChanged]},
	AttackEnded:          {6, decode[AttackCourse]}, // an edit takes none of the channel's slots: a message that few wait for doesn't hold it up
	CardLost:             {4, decode[CardReplaced]},
	CardLeft:             {5, decode[CardReplaced]},
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
	HandedOver:           {5, decode[Assignment]},
	TookOver:             {5, decode[Assignment]},
	AckLapsed:            {2, decode[Assignment]},
	PagerUnreachable:     {2, decode[PagerFault]},
	ForeignRecords:       {2, decode[ForeignFacts]},
	DrillChanged:         {5, decode[DrillFacts]},
	SummaryDue:           {5, func([]byte) (Payload, error) { return nil, nil }}, //nolint:nilnil // it has none
}

// Event is something that happened and may be posted.
type Event struct {
	ID      string    `json:"id"` // delivery id: any replica computes the same for the same event
	Account string    `json:"account"`
	Kind    EventKind `json:"kind"`
	Channel string    `json:"channel"` // where its card is or goes
	At      time.Time `json:"at"`      // on the service's clock for what a poll found, else on this machine's
	Payload Payload   `json:"payload,omitempty"`
	Request string    `json:"request_id,omitempty"` // what the log calls the request that it came of; "": of none
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
	Request  string    `json:"request_id,omitempty"`
	Detail   Payload   `json:"detail,omitempty"`
}

// Print is an event as it is printed.
func (e Event) Print() PrintedEvent {
	facts := eventFacts{
		Kind: e.Kind.Name(), Account: e.Account, At: e.At.UTC(), Channel: e.Channel, Severity: e.Severity(),
		Request: e.Request, Detail: e.Payload,
	}
	if id := e.Attack().ID; id != "" {
		facts.Attack = AttackID(e.Account, id)
	}
	return PrintedEvent{facts, DeliveryID(e.Account, e.ID, e.Kind, 0), 1}
}

// UnmarshalJSON reads an event with the payload of its kind. An unknown kind is an error.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event // without this method
	var read struct {
		plain

		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	kind, ok := kinds[read.Kind]
	if !ok {
		return fmt.Errorf("read event %s: unknown event kind %q", read.ID, read.Kind)
	}
	payload, err := kind.read(read.Payload)
	if err != nil {
		return fmt.Errorf("read event %s: %w", read.ID, err)
	}
	*e = Event(read.plain)
	e.Payload = payload
	return nil
}

// Attack is the attack that an event is about; zero if it is about none.
func (e Event) Attack() apiclient.Attack {
	switch p := e.Payload.(type) {
	case AttackChanged:
		return p.Attack
	case AttackCourse:
		return p.Attack
	case CardReplaced:
		return p.Attack
	case Assignment:
		return p.Attack
	}
	return apiclient.Attack{}
}

// Storm is the storm that an event is about; nil if it is about none.
func (e Event) Storm() *Storm { return e.Changed().Storm }

// Changed is what a poll found about an attack; zero of other events.
func (e Event) Changed() AttackChanged {
	p, _ := e.Payload.(AttackChanged)
	return p
}

// Severity is the worst that the event's attack reached, as far as the event says; "" if it is about none.
func (e Event) Severity() Severity {
	if e.Attack().ID == "" {
		return ""
	}
	return Worst(e.Changed().Severity, SeverityOf(e.Attack()))
}

// Revision is the revision of what the event is about. It orders events of the same time; 0: it has none.
func (e Event) Revision() int {
	switch p := e.Payload.(type) {
	case AttackChanged:
		return p.Revision
	case PermissionChanged:
		return p.Revision
	case ApprovalChanged:
		return p.Revision
	}
	return 0
}

// Rank orders events: incidents first, then what mentions people, storms and monitoring gaps, then attacks, then state,
// then figures.
func (e Event) Rank() int {
	if e.Kind == NewAttack && e.Storm() != nil { // it stands for many
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
func NewCardLost(account string, a apiclient.Attack, former Place, stands bool, at time.Time) Event {
	kind := reposted
	if stands {
		kind = replaces
	}
	return Event{
		ID: kind + DeliveryID(account, a.ID, EventKind("card after "+former.Message()), 1), Account: account, Kind: CardLost, Channel: former.Channel, At: at,
		Payload: CardReplaced{Attack: a, Former: former.Message()},
	}
}

// Reposted reports whether a card's delivery id is one of NewCardLost's; stands, whether the former card is still
// there.
func Reposted(delivery string) (again, stands bool) {
	stands = strings.HasPrefix(delivery, replaces)
	return stands || strings.HasPrefix(delivery, reposted), stands
}
