package card

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Page is what a card tells of its route's pager. At most one of its times is set.
type Page struct {
	At      time.Time // it is called then if nobody is on it; zero: it isn't
	PagedAt time.Time // it was called, and nobody is on it yet
	Fault   string    // it can't be called: why
}

// text goes behind who is on it.
func (p Page) text() text.Text {
	switch {
	case !p.At.IsZero():
		return text.New(" · pages at ", p.At)
	case !p.PagedAt.IsZero():
		return text.New(" · paged at ", p.PagedAt)
	case p.Fault != "":
		return text.New(" · ", text.Bold("not paged"), ": ", text.Sanitize(p.Fault, maxField))
	}
	return nil
}

// PagerUnreachable says that a pager can't be called, so that whoever reads it calls somebody.
func PagerUnreachable(account string, fault record.PagerFault) Message {
	why := fmt.Sprintf("%s (route %s)", fault.Why, fault.Route)
	lines := []text.Text{
		text.New(text.Bold("The pager of "+account+" can't be called: nobody is called"), ". Why: ", text.Sanitize(why, maxTitle*2)),
		text.New("Attacks that nobody is on wait for it. wafbot tries again by itself, unless the call was refused; their cards say when it was called. ",
			"If you read this: take what waits, or call somebody"),
	}
	m := Lines(lines, []call.Suggestion{{Label: "Show status", Line: record.Line{Name: "status"}.With("account", account)}})
	m.Text = notification("The pager of " + account + " can't be called, nobody is called: " + why)
	return m
}
