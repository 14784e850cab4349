package poller

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// QuietHours are the hours of the day in which only some attacks mention people. The zero value has none. Pagers are called at any hour.
type QuietHours struct {
	From, To int            // minutes since midnight by the clock on the wall, To being the first that isn't quiet; From after To: across midnight
	Zone     *time.Location // of that clock; nil: UTC
	Ping     []string       // what mentions people all the same: KindIncident, or an apiclient.Status
}

// Suppresses reports whether it is one of these hours, and the attack mentions no people in them.
func (q QuietHours) Suppresses(a apiclient.Attack, at time.Time) bool {
	if !q.in(at) || a.Incident() && slices.Contains(q.Ping, KindIncident) {
		return false
	}
	return !slices.Contains(q.Ping, string(a.Status()))
}

func (q QuietHours) in(at time.Time) bool {
	at = at.In(cmp.Or(q.Zone, time.UTC))
	now := at.Hour()*60 + at.Minute()
	if q.From <= q.To {
		return q.From <= now && now < q.To
	}
	return q.From <= now || now < q.To
}

// mention adds to an attack's state whom its event mentions. suppressed reports that this event mentions no people: in quiet hours, or because the last
// mention was a short while ago. An attack that becomes an incident always mentions.
func (f finding) mention(s record.AttackState, at time.Time, quiet QuietHours) (mentioned record.AttackState, suppressed bool) {
	begins, worse := !f.last.Notified, f.kind == record.BecameIncident || f.kind == record.Worsened
	if f.route.Channel != "" && (begins || f.kind == record.BecameIncident) {
		s.MentionEvery = f.route.MentionEvery
		s.Mention, s.SuppressedMention = "", cmp.Or(f.route.Mention, s.Mention, s.SuppressedMention)
	}
	if f.last.Rebuilt {
		s.MentionEvery = cmp.Or(s.MentionEvery, f.route.MentionEvery)
		if s.Mention == "" {
			s.SuppressedMention = cmp.Or(s.SuppressedMention, f.route.Mention) // the card shows who was mentioned, and not whom to mention when it gets worse
		}
	}
	if f.calm || !begins && !worse {
		return s, false
	}
	s.Mention, s.SuppressedMention = cmp.Or(s.Mention, s.SuppressedMention), ""
	if quiet.Suppresses(s.Attack, at) {
		s.Mention, s.SuppressedMention, s.Suppressed = "", s.Mention, s.Mention != ""
		return s, true
	}
	s.Suppressed = false
	if f.kind == record.Worsened && at.Sub(s.MentionedAt) < s.MentionEvery {
		return s, true
	}
	s.MentionedAt = at
	return s, false
}

// pagerAfter is an attack's pager after an event. What was going on before the first start has none, until it gets worse.
func pagerAfter(p *record.Pager, kind record.EventKind, route Route, now time.Time) *record.Pager {
	worse := kind == record.BecameIncident || kind == record.Worsened
	begins := kind == record.NewIncident || kind == record.NewAttack
	switch {
	case p == nil && route.PageAfter > 0 && (begins || worse):
		return &record.Pager{Route: route.Match.String(), After: route.PageAfter, NotifiedAt: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.WorsenedAt = now
	if kind == record.BecameIncident && route.PageAfter > 0 {
		next.Route, next.After = route.Match.String(), route.PageAfter
	}
	return &next
}
