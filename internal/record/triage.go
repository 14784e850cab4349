package record

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Triage is what people decided about an attack: its owner, its verdict and their notes.
type Triage struct {
	Owner     *Owner    `json:"owner,omitempty"`     // nil: it is unacknowledged
	UnackedAt time.Time `json:"unacked_at,omitzero"` // when the last owner left it, or the acknowledgement lapsed; zero: never
	Lapsed    *Owner    `json:"lapsed,omitempty"`    // the last owner, if it lapsed; nil: it didn't
	Verdict   *Verdict  `json:"verdict,omitempty"`
	Notes     []Note    `json:"notes,omitempty"` // the oldest first
}

// IsNone reports whether a person found that the attack is none: a false positive, or a test.
func (t Triage) IsNone() bool { return t.Verdict != nil && t.Verdict.Is != "real" }

// Found reports whether that is a person's verdict.
func (t Triage) Found(is string) bool { return t.Verdict != nil && t.Verdict.Is == is }

// Severity is that of an attack whose worst is known: only a verdict lowers it.
func (t Triage) Severity(worst Severity) Severity {
	if t.IsNone() {
		return SeverityLow
	}
	return worst
}

// Owner is the person who acknowledged an attack, or was given it.
type Owner struct {
	ID    string    `json:"id"`             // as Actor has it
	Team  string    `json:"team,omitempty"` // as Actor has it
	Name  string    `json:"name"`           // for people
	Since time.Time `json:"since"`
	By    Actor     `json:"by"`             // the owner, or the person who handed it over
	From  string    `json:"from,omitempty"` // the id of the owner before the handover; "": there was none
	// FromName is for people; "" where only the id was kept.
	FromName string `json:"from_name,omitempty"`
	Note     string `json:"note,omitempty"` // the id of the note that it was handed over with
}

// Is reports whether the owner is that person.
func (o Owner) Is(who Actor) bool { return Actor{ID: o.ID, Team: o.Team}.Is(who) }

// Verdict is what a person found an attack to be.
type Verdict struct {
	Is string    `json:"is"` // real, false_positive or test
	By Actor     `json:"by"`
	At time.Time `json:"at"`
}

// Note is what a person wrote about an attack.
type Note struct {
	ID   string    `json:"id"` // the same request has the same
	By   Actor     `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Mute suppresses attacks that are no incidents for a while. Exactly one of Attack, Source and Type is set.
type Mute struct {
	ID      string       `json:"id"` // of what is muted: the same again has the same
	Account string       `json:"account"`
	Attack  string       `json:"attack,omitempty"` // as AttackID makes it
	Source  netip.Prefix `json:"source,omitzero"`
	Type    string       `json:"type,omitempty"`
	App     int          `json:"app,omitempty"` // the application that Source or Type is muted on; 0: all
	Until   time.Time    `json:"until"`
	By      Actor        `json:"by"`
}

// Over reports whether the mute has ended.
func (m Mute) Over(now time.Time) bool { return !now.Before(m.Until) }

// Protected is a range that an admin had named while wafbot runs, so that it isn't denied again.
type Protected struct {
	ID     string       `json:"id"` // of the range: the same again has the same
	Range  netip.Prefix `json:"range"`
	Name   string       `json:"name,omitempty"` // for people
	Deny   string       `json:"deny"`           // DenyNever or DenyApproval
	Reason string       `json:"reason,omitempty"`
	By     Actor        `json:"by"`
	At     time.Time    `json:"at"`
}

// DrillFor is how long a drill waits before it reports. Later acknowledgements count on the card alone.
const DrillFor = 5 * time.Minute

// Drill tests whether people acknowledge cards: it posts a test card where each route's cards go. It never touches the
// service.
type Drill struct {
	ID      string      `json:"id"`
	Account string      `json:"account"`
	By      Actor       `json:"by"`
	At      time.Time   `json:"at"`             // asked
	Page    bool        `json:"page,omitempty"` // the routes' pagers are called, too
	Cards   []DrillCard `json:"cards"`
}

// DrillCard is a test card.
type DrillCard struct {
	Channel string        `json:"channel"`
	Mention string        `json:"mention,omitempty"` // the user or user group of its route; "": none
	Pager   string        `json:"pager,omitempty"`   // the match of the route whose pager is called; "": it has none
	By      *Actor        `json:"by,omitempty"`      // who acknowledged it; nil: nobody did
	After   time.Duration `json:"after,omitempty"`   // from asking for the drill until then
}

// CardID is what the buttons, the delivery and the page of a test card call it.
func (d Drill) CardID(card int) string { return fmt.Sprintf("%s-%d", d.ID, card) }

// Waits reports whether the drill's report is to come: a card isn't acknowledged, and there is time.
func (d Drill) Waits(now time.Time) bool {
	missing := func(c DrillCard) bool { return c.By == nil }
	return now.Sub(d.At) < DrillFor && slices.ContainsFunc(d.Cards, missing)
}

// PageOf is the page of a test card that has a pager: it calls until the card is acknowledged.
func (d Drill) PageOf(card int, now time.Time) *Page {
	c, id := d.Cards[card], d.CardID(card)
	p := &Page{
		ID: DeliveryID(d.Account, id, "page", 0), Attack: id, Test: true, Route: c.Pager, Since: d.At, Severity: "high",
		State: PageCalling,
	}
	if c.By != nil {
		p.State, p.EndedAt = PageEnding, now
	}
	return p
}
