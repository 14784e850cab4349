package card

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

const (
	maxNoticeName = 30 // characters of a name
	leastNotice   = 12 // characters kept for hostile text, if there is any
)

// brevity is how far a notification is shortened. An address is never cut.
type brevity struct {
	name   int    // characters of a name
	detail detail // what is said at most
}

type detail int

const (
	detailLeast detail = iota // status, type, application, top source
	detailShare               // and its share, and how late the card is
	detailHits                // and of how many hits
	detailWhose               // and whose it is, or its country
)

var brevities = []brevity{{maxNoticeName, detailWhose}, {20, detailWhose}, {20, detailHits}, {12, detailHits},
	{12, detailShare}, {8, detailLeast}}

// notice is a card's notification: all that a locked phone shows. Hostile text stands last, because the end is cut.
func (c drawing) notice() string {
	a := c.Attack
	path := a.Path
	if path == apiclient.SeveralPaths {
		path = "several paths"
	}
	written := strings.TrimSpace(text.Sanitize(a.Method, 10) + " " + text.Sanitize(path, maxNotice))
	lead, room := c.noticeLead(), maxNotice-min(length(written), leastNotice)-1
	var text string
	for _, b := range brevities {
		text = fmt.Sprintf("%s: %s on %s, %s.", lead, typeName(a, b.name), c.appName(b.name), c.noticeSources(b))
		if c.Late > 0 && b.detail >= detailShare {
			text += " " + lateness(c.Late) + " late."
		}
		if noticeFits(text, room) {
			break
		}
	}
	return notification(strings.Join(strings.Fields(text+" "+written), " "))
}

// noticeLead is what matters most: whether it is blocked, and how severe it is.
func (c drawing) noticeLead() string {
	_, state := c.state()
	lead := state + ", " + string(c.Headline.Severity) + " " + c.kind()
	if c.SharedChannel {
		lead = text.Sanitize(c.Account.Name, maxNoticeName) + ": " + lead
	}
	return lead
}

// noticeSources are the sources.
func (c drawing) noticeSources(b brevity) string {
	a := c.Attack
	top, ok := call.TopSource(a)
	percent, known := topShare(a)
	switch {
	case !ok || !top.IP.IsValid():
		return fmt.Sprintf("hits %s, sources %s", a.Hits, a.SourceCount)
	case known && percent < 10:
		return fmt.Sprintf("%s, top one %s", words.Figure(a.SourceCount, "source"), words.Percent(percent))
	}
	from := text.Sanitize(top.String(), maxAddress)
	if whose, own := c.whose(top, b.name); whose != "" && (b.detail >= detailWhose || own && b.detail >= detailHits) {
		from += " (" + whose + ")"
	}
	switch {
	case !known && b.detail >= detailHits:
		return from + ", hits " + a.Hits.String()
	case !known, b.detail < detailShare:
		return from
	case b.detail >= detailHits:
		return from + " " + words.Percent(percent) + " of " + words.Figure(a.Hits, "hit")
	}
	return from + " " + words.Percent(percent)
}

// whose is the name of a source that is the customer's own, or else its country; "": unknown.
func (c drawing) whose(s apiclient.Source, limit int) (whose string, own bool) {
	if own, ok := c.Policy.SourceOf(s); ok {
		return text.Sanitize(own.Name, limit), true
	}
	return text.Sanitize(s.Country, maxCountry), false
}

// notification cuts a message's text to what a locked phone shows. Only its end is cut.
func notification(words string) string {
	for most := maxNotice; ; most-- {
		if out := mrkdwn(text.New(text.Sanitize(words, most))); length(out) <= maxNotice {
			return out
		}
	}
}

// noticeFits reports whether a text fits into so many characters of a notification, escapes included.
func noticeFits(words string, room int) bool { return length(mrkdwn(text.New(words))) <= room }

// clockTime is a moment for a notification, in UTC: Slack shows no local times there.
func clockTime(t time.Time) string { return t.UTC().Format("15:04 UTC") }
