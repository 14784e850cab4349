package card

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
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
	detailLeast detail = iota // status, type, application, top source, owner
	detailShare               // and its share, and how late the card is
	detailHits                // and whose it is, if known
	detailSources
	detailWhose // and the top source's country
)

var brevities = []brevity{{maxNoticeName, detailWhose}, {maxNoticeName, detailSources}, {maxNoticeName, detailHits}, {20, detailHits}, {12, detailHits}, {12, detailShare}, {8, detailLeast}}

// notice is a card's notification: all that a locked phone shows. Hostile text stands last, because the end is cut.
func (c Card) notice(advice advice.Advice) string {
	a := c.Situation.Attack
	path := a.Path
	if path == "[multiple]" {
		path = "several paths"
	}
	written := strings.TrimSpace(text.Sanitize(a.Method, 10) + " " + text.Sanitize(path, maxNotice))
	lead, room := c.noticeLead(), maxNotice-min(length(written), leastNotice)-1
	var text string
	for _, b := range brevities {
		text = fmt.Sprintf("%s: %s on %s. %s %s", lead, typeName(a, b.name), c.appName(b.name), c.noticeSources(advice, b), c.noticeState(b))
		if noticeFits(text, room) {
			break
		}
	}
	return notification(strings.Join(strings.Fields(text+" "+written), " "))
}

// noticeLead is what matters most: whether the attack succeeded, and whether it is blocked.
func (c Card) noticeLead() string {
	a := c.Situation.Attack
	status := text.Sanitize(describe.StatusName(a), maxNoticeName)
	lead := strings.ToUpper(status)
	if a.Incident() {
		lead = "INCIDENT " + status
	}
	switch {
	case a.FalsePositive():
		lead = "FALSE POSITIVE"
	case c.Quiet:
		lead += ", now quiet"
	}
	return lead
}

// noticeState says who acknowledged it, and whether the card is late.
func (c Card) noticeState(b brevity) string {
	state := "Unacked."
	if _, muted := c.muted(); muted {
		state = "Muted."
	}
	if c.Triage.Owner != nil {
		state = text.Sanitize(c.Triage.Owner.Name, b.name) + " is on it."
	}
	if c.Late > 0 && b.detail >= detailShare {
		state = lateness(c.Late) + " late. " + state
	}
	return state
}

// noticeSources are the sources.
func (c Card) noticeSources(advice advice.Advice, b brevity) string {
	a := c.Situation.Attack
	top, ok := call.TopSource(a)
	percent, known := topShare(c.Situation.Attack)
	all := a.SourceCount.String() + text.Plural(a.SourceCount.N, " source")
	switch {
	case known && len(advice.Suggestions) > 0 && c.tooThin(advice):
		return fmt.Sprintf("%s, top one %s: one deny won't stop it.", all, describe.Percent(percent))
	case !ok || !top.IP.IsValid():
		return fmt.Sprintf("Hits %s, sources %s.", a.Hits, a.SourceCount)
	}
	from := text.Sanitize(top.IP.String(), maxAddress)
	if whose, matters := c.whose(top, b.name); whose != "" && (b.detail >= detailWhose || matters && b.detail >= detailHits) {
		from += " (" + whose + ")"
	}
	switch {
	case !known:
		from = "Top source " + from
		if b.detail >= detailHits {
			from += ", hits " + a.Hits.String()
		}
	case b.detail >= detailHits:
		from += " " + describe.Percent(percent) + " of " + a.Hits.String() + text.Plural(a.Hits.N, " hit")
	case b.detail >= detailShare:
		from += " " + describe.Percent(percent)
	}
	if b.detail >= detailSources && a.SourceCount.Known {
		from += ", " + all
	}
	return from + "."
}

// whose is a source's owner, or else its country; "": unknown. matters reports that denying it may affect others.
func (c Card) whose(s apiclient.Source, limit int) (whose string, matters bool) {
	if own, ok := c.Situation.Policy.SourceOf(s.IP); ok {
		return text.Sanitize(own.Name, limit), true
	}
	if describe.LikelyShared(c.Situation.Context.Sources[s.IP]) {
		return "CDN, proxy?", true
	}
	return text.Sanitize(s.Country, 3), false
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
func noticeFits(words string, room int) bool {
	return fits(words, room) && (harmless(words) || fits(mrkdwn(text.New(words)), room))
}

// clockTime is a moment for a notification, in UTC: Slack shows no local times there.
func clockTime(t time.Time) string { return t.UTC().Format("15:04 UTC") }
