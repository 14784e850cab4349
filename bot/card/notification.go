package card

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

const (
	maxNoticeName = 30 // of a notification a name may take
	leastNotice   = 12 // what the attacker wrote has at least, where there is any
)

// brevity is how far a notification is shortened, so that no address is ever cut.
type brevity struct {
	name   int    // what a name may take
	detail detail // all that is left
}

type detail int

const (
	detailLeast detail = iota // status, type, application, the top source, who is on it
	detailShare               // and its share, and how late this comes
	detailHits                // and whose it is, where that is known
	detailSources
	detailWhose // and from where the top source is
)

var brevities = []brevity{{maxNoticeName, detailWhose}, {maxNoticeName, detailSources}, {maxNoticeName, detailHits}, {20, detailHits}, {12, detailHits}, {12, detailShare}, {8, detailLeast}}

// notice is a card's notification: on a locked phone it is all there is. What the attacker wrote freely stands last, so that cutting harms nothing.
func (c Card) notice(advice advice.Advice) string {
	a := c.Situation.Attack
	path := a.Path
	if path == "[multiple]" {
		path = "several paths"
	}
	written := strings.TrimSpace(text.Sanitize(a.Method, 10) + " " + text.Sanitize(path, maxNotice))
	var text string
	for _, b := range brevities {
		text = fmt.Sprintf("%s: %s on %s. %s %s", c.noticeLead(), typeName(a, b.name), c.appName(b.name), c.noticeSources(advice, b), c.noticeState(b))
		if noticeLength(text) <= maxNotice-min(length(written), leastNotice)-1 {
			break
		}
	}
	return notification(strings.Join(strings.Fields(text+" "+written), " "))
}

// noticeLead is what matters most: whether it worked, and whether it gets through.
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

// noticeState says whether somebody is on it, and whether this comes late.
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

// noticeSources says from where it comes.
func (c Card) noticeSources(advice advice.Advice, b brevity) string {
	a := c.Situation.Attack
	top, ok := call.TopSource(a)
	percent, known := c.topShare()
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

// whose is whom a source belongs to, which matters before it is denied, or else where it is; "": not known.
func (c Card) whose(s apiclient.Source, limit int) (whose string, matters bool) {
	if own, ok := c.Situation.Policy.SourceOf(s.IP); ok {
		return text.Sanitize(own.Name, limit), true
	}
	if describe.SourceActivityShared(c.Situation.Scene.Seen[s.IP]) {
		return "CDN, proxy?", true
	}
	return text.Sanitize(s.Country, 3), false
}

// worseNotice is the notification of a reply that calls people because an attack got worse; what the attacker wrote stands last.
func worseNotice(a *call.Account, n record.Event) string {
	c := n.Changed()
	lead := "WORSE, " + describe.StatusName(c.Attack)
	if n.Kind == record.BecameIncident {
		lead = "INCIDENT now, " + describe.StatusName(c.Attack)
	}
	what := typeName(c.Attack, 20) + " on " + text.Sanitize(a.AppName(c.Attack.App), 20)
	if s := c.Storm; s != nil {
		lead, what = "STORM worse, "+describe.StormBlocking(*s), fmt.Sprintf("%d attacks on %s", s.Gathered, text.Sanitize(describe.StormOn(*s, a), 20))
		return notification(fmt.Sprintf("%s: %s, %s hits", lead, what, c.Attack.Hits))
	}
	return notification(fmt.Sprintf("%s: %s, %s hits, %s%s. %s", lead, what, c.Attack.Hits, c.Attack.SourceCount, text.Plural(c.Attack.SourceCount.N, " source"), describe.Where(c.Attack)))
}
