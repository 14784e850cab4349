package poller

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// QuietHours are the hours of the day in which only some attacks call people. The zero value has none. Pagers call at any hour.
type QuietHours struct {
	From, To int            // minutes since midnight by the clock on the wall, To being the first that isn't quiet; From after To: across midnight
	Zone     *time.Location // of that clock; nil: UTC
	Ping     []string       // what calls people all the same: KindIncident, or an apiclient.Status
}

// Hush reports whether it is one of these hours, and the attack calls nobody in them.
func (q QuietHours) Hush(a apiclient.Attack, at time.Time) bool {
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

// call adds to what is remembered of an attack whom its news calls. hushed tells that nobody is called by this one: in quiet hours, or because
// somebody was called a short while ago. Becoming an incident always calls.
func (f finding) call(s record.AttackState, at time.Time, quiet QuietHours) (called record.AttackState, hushed bool) {
	begins, worse := !f.last.Told, f.reason == record.BecameIncident || f.reason == record.Worsened
	if f.route.Channel != "" && (begins || f.reason == record.BecameIncident) {
		s.Every = f.route.MentionEvery
		s.Mention, s.Spared = "", cmp.Or(f.route.Mention, s.Mention, s.Spared)
	}
	if f.last.Recalled {
		s.Every = cmp.Or(s.Every, f.route.MentionEvery)
		if s.Mention == "" {
			s.Spared = cmp.Or(s.Spared, f.route.Mention) // who was called is on its card; whom to call when it gets worse isn't
		}
	}
	if f.calm || !begins && !worse {
		return s, false
	}
	s.Mention, s.Spared = cmp.Or(s.Mention, s.Spared), ""
	if quiet.Hush(s.Attack, at) {
		s.Mention, s.Spared, s.Hushed = "", s.Mention, s.Mention != ""
		return s, true
	}
	s.Hushed = false
	if f.reason == record.Worsened && at.Sub(s.CalledAt) < s.Every {
		return s, true
	}
	s.CalledAt = at
	return s, false
}
