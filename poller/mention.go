package poller

import (
	"cmp"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// QuietHours are the hours of the day in which only incidents and attacks that aren't blocked mention people. The zero
// value has none. Pagers are called at any hour.
type QuietHours struct {
	From, To int            // minutes since midnight by the clock on the wall, To being the first that isn't quiet; From after To: across midnight
	Zone     *time.Location // of that clock; nil: UTC
}

// Suppresses reports whether it is one of these hours, and the attack mentions no people in them.
func (q QuietHours) Suppresses(a apiclient.Attack, at time.Time) bool {
	return q.in(at) && !a.Incident() && a.Status() != apiclient.StatusNotBlocked
}

func (q QuietHours) in(at time.Time) bool {
	at = at.In(cmp.Or(q.Zone, time.UTC))
	now := at.Hour()*60 + at.Minute()
	if q.From <= q.To {
		return q.From <= now && now < q.To
	}
	return q.From <= now || now < q.To
}
