package card

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// stormNotice is the notification of a storm's card, as notice is of an attack's.
func (c Card) stormNotice(advice advice.Advice) string {
	s := *c.Situation.Storm
	lead := "STORM"
	switch {
	case c.Quiet:
		lead = "STORM quiet"
	case !s.GoesOn():
		lead = "STORM over"
	}
	on := describe.StormOn(s, c.Situation.Account)
	if len(s.Apps) > 1 {
		on = fmt.Sprintf("%d apps", len(s.Apps))
	}
	when := "in " + text.Duration(describe.StormLasted(s, c.FiguresAt))
	if s.CaughtUp {
		when = "found"
	}
	what := fmt.Sprintf("on %s, %s, %d%s.", text.Sanitize(on, maxNoticeName), stormBlocking(s), s.Incidents, text.Plural(int64(s.Incidents), " incident"))
	if c.Triage.Owner != nil {
		what += " " + text.Sanitize(c.Triage.Owner.Name, maxNoticeName) + " on it."
	}
	lead += ": " + apiclient.Known(int64(s.Grouped)).String() + " attacks"
	cause := c.stormCause(advice)
	text := strings.Join([]string{lead, when, what, cause}, " ")
	if noticeLength(text) > maxNotice { // the duration matters least
		text = strings.Join([]string{lead, what, cause}, " ")
	}
	if noticeLength(text) > maxNotice {
		text = strings.TrimSuffix(text, oneDeny)
	}
	return notification(text)
}

// oneDeny says that one denial stops most of the storm.
const oneDeny = " One deny helps."

// stormBlocking is how much of a storm gets through, where room is short: of some more it may not be known.
func stormBlocking(s record.Storm) string {
	through, unknown := s.Status[apiclient.StatusNotBlocked]+s.Status[apiclient.StatusPartly], s.Status[apiclient.StatusUnknown]
	if through == 0 || unknown == 0 {
		return strings.Replace(describe.StormBlocking(s), "not ", "NOT ", 1)
	}
	s.Status = maps.Clone(s.Status)
	delete(s.Status, apiclient.StatusUnknown)
	number, words, _ := strings.Cut(describe.StormBlocking(s), " not ")
	return number + "+ NOT " + words
}

// stormCause names what is behind a storm and whether one deny helps; a path, which its attacker wrote, stands last.
func (c Card) stormCause(advice advice.Advice) string {
	s := *c.Situation.Storm
	behind := apiclient.Known(int64(s.SharedBy))
	own, isOwn := c.Situation.Policy.SourceOf(s.Source)
	shared := describe.LikelyShared(c.Situation.Context.Sources[s.Source])
	switch {
	case !s.Source.IsValid() && s.Place != "":
		return fmt.Sprintf("No one source, %s go to %s", behind, s.Place)
	case !s.Source.IsValid():
		return "No one source: one deny won't stop it."
	case c.sourceDenied():
		return fmt.Sprintf("Denied: %s.", s.Source)
	case isOwn:
		return fmt.Sprintf("%s = %s is behind %s.", s.Source, text.Sanitize(own.Name, maxNoticeName), behind)
	case shared:
		return fmt.Sprintf("%s (CDN, proxy?) is behind %s.", s.Source, behind)
	}
	from := ""
	if s.Country != "" {
		from = " (" + text.Sanitize(s.Country, 3) + ")"
	}
	text := fmt.Sprintf("%s%s is behind %s.", s.Source, from, behind)
	if s.GoesOn() && s.Through > 0 && c.Triage.Owner == nil && !c.Quiet && denies(advice) {
		text += oneDeny
	}
	return text
}

// sourceDenied reports whether the storm's source was denied from its card.
func (c Card) sourceDenied() bool {
	return slices.ContainsFunc(c.Situation.Changes, func(ch record.Change) bool {
		return ch.InForce(c.Situation.Now) && ch.Line.Name == "deny" && slices.Contains(ch.Line.Words, c.Situation.Storm.Source.String())
	})
}
