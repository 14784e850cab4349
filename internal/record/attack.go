package record

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// MentionEvery is the least time between two mentions about one attack. Becoming an incident always mentions.
const MentionEvery = 10 * time.Minute

// AttackState is one attack as the poller last decided about it.
type AttackState struct {
	Attack            apiclient.Attack `json:"attack"`                       // as of the last event, or as first seen
	ObservedAt        time.Time        `json:"observed_at"`                  // when Attack was read, on the service's clock
	Revision          int              `json:"revision"`                     // counts its events, from the time of the first on
	History           []HitPoint       `json:"history,omitempty"`            // of its hits, the oldest first, at most 30
	FoundAt           time.Time        `json:"found_at,omitzero"`            // when its first event was found, on the clock of the machine that polled
	Notified          bool             `json:"notified,omitempty"`           // it has a card, or its first event is in the outbox
	Quiet             bool             `json:"quiet,omitempty"`              // and the card says so
	Severity          Severity         `json:"severity,omitempty"`           // the worst that it reached
	Paused            bool             `json:"paused,omitempty"`             // no hit was seen getting through for its Window, though it isn't over
	ResumedAt         time.Time        `json:"resumed_at,omitzero"`          // of the first hit seen after it was quiet or paused, on the service's clock; zero: it never resumed
	Stopped           *Stopped         `json:"stopped,omitempty"`            // its tries that were seen stopped; nil: none were. It never changes: another one takes its place
	Others            []Mitigation     `json:"others,omitempty"`             // in force against it, and not judged as changes: what they do, as of the last poll that judged it
	Channel           string           `json:"channel,omitempty"`            // of its card: chosen with the first event, and again when it becomes an incident
	Mention           string           `json:"mention,omitempty"`            // likewise; "": none
	SuppressedMention string           `json:"suppressed_mention,omitempty"` // the route's mention, while it is not used: the attack went on before the first start, or in quiet hours; used when the attack gets worse
	Suppressed        bool             `json:"suppressed,omitempty"`         // quiet hours suppressed SuppressedMention, and no event mentioned it since
	MentionedAt       time.Time        `json:"mentioned_at,omitzero"`        // when an event of it last mentioned people, on the service's clock; zero: never
	AckTimeout        time.Duration    `json:"ack_timeout,omitempty"`        // how long an acknowledgement counts while it gets through; 0: for good
	Baseline          Baseline         `json:"baseline"`                     // what worsening is measured by
	Pager             *Pager           `json:"pager,omitempty"`              // of its route; nil: none
	Storm             *Storm           `json:"storm,omitempty"`              // of a storm; nil: it is an attack
	StormID           string           `json:"storm_id,omitempty"`           // the storm that it is grouped in; "": none
	OwnCard           bool             `json:"own_card,omitempty"`           // it is grouped, and has got a card of its own since
	Rebuilt           bool             `json:"rebuilt,omitempty"`            // from its card's metadata: of Attack only the id is known, until it is read again
}

// Grouped reports whether the attack shows only in a storm's card.
func (s AttackState) Grouped() bool { return s.StormID != "" && !s.OwnCard }

// GoesOn reports whether the attack's card says that it goes on: hits, or tries that were stopped, came lately.
func (s AttackState) GoesOn() bool { return s.Notified && !s.Quiet }

// The least time without a hit after which an attack is taken to pause, and how many times its hits' usual gap that is.
const (
	leastWindow = 5 * time.Minute
	windowGaps  = 10
)

// Window is for how long no hit is to be seen getting through until the attack is taken to pause: ten times the gap
// between its last hits, five minutes at least. At most it is how long an attack goes on after its last hit.
func (s AttackState) Window(ongoing time.Duration) time.Duration {
	return min(max(leastWindow, windowGaps*s.gap()), ongoing)
}

// gap is the time between the attack's hits: the last ones, or all of them where two polls haven't seen more come yet.
func (s AttackState) gap() time.Duration {
	if n := len(s.History); n > 1 {
		before, last := s.History[n-2], s.History[n-1]
		if hits := last.Hits - before.Hits; hits > 0 {
			return time.Duration(last.At-before.At) * time.Second / time.Duration(hits)
		}
	}
	if a := s.Attack; a.Hits.N > 1 && !a.First.IsZero() {
		return a.Last.Sub(a.First) / time.Duration(a.Hits.N-1)
	}
	return 0
}

// Stopped is what was seen of an attack's tries that were stopped. They are no hits of its record: the service lists
// them in records of their own, of which it uploads samples. So each tally counts at least so many, and its First is
// when the first such record began.
type Stopped struct {
	Sources map[netip.Addr]Tally `json:"sources,omitempty"` // denied, by whatever entry; only sources that the attack lists
	Patched Tally                `json:"patched,omitzero"`  // by a virtual patch at the attack's place
}

// Tries is how many tries were seen stopped, at least.
func (s *Stopped) Tries() (n int64) {
	if s == nil {
		return 0
	}
	n = s.Patched.N
	for _, t := range s.Sources {
		n += t.N
	}
	return n
}

// Last is when the last one was seen stopped; zero: none was.
func (s *Stopped) Last() (last time.Time) {
	if s == nil {
		return last
	}
	last = s.Patched.Last
	for _, t := range s.Sources {
		last = Later(last, t.Last)
	}
	return last
}

// Baseline is what worsening is measured by. The last observed attack can't serve: each redraw moves it, and one
// answer that leaves a field out would wipe the field.
type Baseline struct {
	Hits     apiclient.Figure `json:"hits,omitzero"`      // at the last event that mentions people
	Status   apiclient.Status `json:"status,omitempty"`   // the last one that was known
	Incident bool             `json:"incident,omitempty"` // ever
}

// HitPoint is how many hits an attack had by a moment.
type HitPoint struct {
	At   int64 `json:"t"` // Unix seconds, on the service's clock: of its last hit
	Hits int64 `json:"h"` // since it began
}

// Pager is the pager that is called while an attack is unacknowledged. It is chosen with the attack's first event, and
// again when the attack becomes an incident.
type Pager struct {
	Route      string        `json:"route"`                // the route's match, as Match.String has it
	After      time.Duration `json:"after"`                // from NotifiedAt to the call
	NotifiedAt time.Time     `json:"notified_at"`          // on this machine's clock
	WorsenedAt time.Time     `json:"worsened_at,omitzero"` // the last time it got worse, on this machine's clock
}

// KnownAttack is an attack with the id that people type.
type KnownAttack struct {
	ID string
	apiclient.Attack
}

// StormSeen is a storm as it was last decided about, or an attack that a storm has grouped.
type StormSeen struct {
	KnownAttack // a storm's is put together from those that it grouped
	Storm       Storm
	SeenAt      time.Time // when that was, on the service's clock; of a grouped attack up to a minute ago
	Quiet       bool      // the storm's attacks are over
	Own         bool      // it is an attack that has a card of its own by now, or is about to
}

// Active reports whether the storm goes on, or an attack of it does.
func (s StormSeen) Active() bool { return s.Storm.GoesOn() || s.Storm.Ongoing+s.Storm.StillTrying > 0 }

// Evidence is what an attack with a card looked like when it was read first: the service's record keeps changing.
type Evidence struct {
	First  Observation `json:"first"`            // when wafbot read it first
	Late   bool        `json:"late,omitempty"`   // the first observation was lost: First is a later one
	CardAt time.Time   `json:"card_at,omitzero"` // when it was found to be worth a card; zero: not known
}

// Observation is what an attack looked like when it was read.
type Observation struct {
	At     time.Time        `json:"at"`     // on the service's clock
	Attack apiclient.Attack `json:"attack"` // as Brief makes it
}

// AttackDelta is a record that changed.
type AttackDelta struct {
	Before *apiclient.Attack // nil: the record was not listed, or that isn't known
	Now    *apiclient.Attack
}

// Page is one call of an attack's pager, made because the attack is unacknowledged; or that of a test card.
type Page struct {
	ID            string    `json:"id"`             // what the pager knows it by
	Attack        string    `json:"attack"`         // as AttackID makes it
	Test          bool      `json:"test,omitempty"` // Attack is a test card, as Drill.CardID makes it
	Route         string    `json:"route"`          // whose pager it is
	Since         time.Time `json:"since"`          // unacknowledged since
	Severity      string    `json:"severity"`
	Incident      bool      `json:"incident,omitempty"` // the attack was one when the pager was called
	State         PageState `json:"state"`
	TakenAt       time.Time `json:"taken_at,omitzero"`        // the pager accepted the call
	EndedAt       time.Time `json:"ended_at,omitzero"`        // the call was to be resolved
	AgainAt       time.Time `json:"again_at,omitzero"`        // since then the mute, or the verdict, that ended the call doesn't silence the pager any more; zero: it does
	Fault         string    `json:"fault,omitempty"`          // why the pager didn't accept it yet, for people
	FaultNotified bool      `json:"fault_notified,omitempty"` // and the account's channel was notified of it
}

// PageState is how far a page is. It is stored before what it names is done.
type PageState string

// The states of a page.
const (
	PageCalling PageState = "calling" // the pager is called, and called again until it accepts
	PageEnding  PageState = "ending"  // the pager is asked to resolve, again until it accepts
	PageEnded   PageState = "ended"
)

// Open reports whether the pager has to be called, or may still page people.
func (p Page) Open() bool { return p.State == PageCalling || p.State == PageEnding }

// Severity is how severe an attack is. Its event and card show the worst that it reached.
type Severity string

// The severities, the worst first.
const (
	SeverityCritical Severity = "critical"
	SeverityHigh     Severity = "high"
	SeverityMedium   Severity = "medium"
	SeverityLow      Severity = "low"
)

// SeverityOf is how severe an attack is as it was observed.
func SeverityOf(a apiclient.Attack) Severity {
	switch {
	case a.Incident():
		return SeverityCritical
	case a.Status() == apiclient.StatusBlocked:
		return SeverityLow
	}
	switch a.Type {
	case "rce", "sqli", "nosqli", "ssti", "xxe", "ssrf", "ptrav", "brute", "credential_stuffing", "bola":
		return SeverityHigh
	}
	return SeverityMedium
}

// Severities are all severities, the worst first.
func Severities() []Severity {
	return []Severity{SeverityCritical, SeverityHigh, SeverityMedium, SeverityLow}
}

// Worst is the worst of severities; "" if none is given or known.
func Worst(all ...Severity) Severity {
	for _, s := range Severities() {
		if slices.Contains(all, s) {
			return s
		}
	}
	return ""
}
