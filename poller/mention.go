package poller

import (
	"cmp"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
)

// Suppresses reports whether it is one of the quiet hours, by a zone's clock on the wall (nil: UTC's), and the attack
// mentions no people in them: it is no incident and is blocked. Pagers are called at any hour.
func Suppresses(q config.Quiet, zone *time.Location, a apiclient.Attack, at time.Time) bool {
	return !a.Incident() && a.Status() != apiclient.StatusNotBlocked && isQuiet(q, at.In(cmp.Or(zone, time.UTC)))
}

func isQuiet(q config.Quiet, at time.Time) bool {
	from, to := q.Span()
	now := at.Hour()*60 + at.Minute()
	if from <= to {
		return from <= now && now < to
	}
	return from <= now || now < to
}
