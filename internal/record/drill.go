package record

import (
	"fmt"
	"slices"
	"time"
)

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
