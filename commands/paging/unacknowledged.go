package paging

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Unacknowledged is all that decides whether an attack's pager is called.
type Unacknowledged struct {
	Attack     apiclient.Attack
	Quiet      bool
	Muted      bool
	NotifiedAt time.Time     // its card was posted, or was to be: an outage of Slack delays no page
	WorsenedAt time.Time     // it last became worse; zero: never
	Route      string        // whose pager it is; "": none is left
	After      time.Duration // the pager is called when the attack has been unacknowledged for so long
	Triage     record.Triage
}

// since is when the attack became unacknowledged; false if its pager isn't called as long as nothing changes.
func (u Unacknowledged) since() (time.Time, bool) {
	since := record.Later(u.NotifiedAt, u.Triage.UnackedAt)
	if v := u.Triage.Verdict; v != nil && (v.Is == "false_positive" || v.Is == "test") {
		if !u.WorsenedAt.After(v.At) {
			return time.Time{}, false
		}
		since = record.Later(since, u.WorsenedAt) // the verdict was about a milder attack
	}
	return since, u.Triage.Owner == nil && !u.Muted && !u.Attack.FalsePositive()
}

// PagesAt is when the pager is called if nothing changes, given the last page; false if it isn't called. The pager is called once for each time in
// which the attack is unacknowledged and not silenced, and for an attack that is over only if it is an incident. An attack that becomes an incident calls the
// incident's pager, even after another pager was called.
func (u Unacknowledged) PagesAt(last record.Page) (since, at time.Time, ok bool) {
	since, ok = u.since()
	since = record.Later(since, last.AgainAt)
	switch {
	case !ok, last.Open(), !since.After(last.Since) && !u.escalates(last), u.Quiet && !u.Attack.Incident():
		return time.Time{}, time.Time{}, false
	}
	return since, since.Add(u.After), true
}

// again is the last page, with when its attack needs a page again though no one acknowledged it: a mute or a verdict ended the call, and is gone now.
func (u Unacknowledged) again(last record.Page, now time.Time) record.Page {
	since, wanted := u.since()
	switch {
	case !wanted:
		last.AgainAt = time.Time{}
	case last.AgainAt.IsZero() && !last.EndedAt.IsZero() && !since.After(last.Since) && !u.escalates(last):
		last.AgainAt = now
	}
	return last
}

// escalates reports whether the attack has become an incident since, which has another pager.
func (u Unacknowledged) escalates(last record.Page) bool {
	return u.Attack.Incident() && !last.Incident && u.Route != "" && u.Route != last.Route
}

// over reports whether an open page is to be resolved: the attack was acknowledged meanwhile, or it needs no page any more.
func (u Unacknowledged) over(open record.Page) bool {
	since, wanted := u.since()
	return !wanted || since.After(open.Since)
}
