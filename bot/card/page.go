package card

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Page is the state of a route's pager. At most one of its times is set.
type Page struct {
	At      time.Time // it is called then, unless acknowledged before; zero: it isn't
	PagedAt time.Time // it was called, and the attack is still unacknowledged; zero: it wasn't
	Fault   string    // why it can't be called
}

// text goes behind the owner.
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

// PagerUnreachable says that a pager can't be called, so that its reader pages by other means.
func PagerUnreachable(account string, fault record.PagerFault) Message {
	why := fmt.Sprintf("%s (route %s)", fault.Why, fault.Route)
	lines := []text.Text{
		text.New(text.Bold("The pager of "+account+" can't be called: no page is sent"), ". Why: ", text.Sanitize(why, maxTitle*2)),
		text.New("Unacknowledged attacks wait for it. wafbot tries again by itself, unless the call was refused; their cards say when it was called. ",
			"If you read this: acknowledge what waits, or page by other means"),
	}
	m := Lines(lines, []call.Suggestion{{Label: "Show status", Line: record.Line{Name: "status"}.With("account", account)}})
	m.Text = notification("The pager of " + account + " can't be called, no page is sent: " + why)
	return m
}
