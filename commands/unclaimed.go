package commands

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Unclaimed is all that decides whether an attack's pager is called.
type Unclaimed struct {
	Attack apiclient.Attack
	Quiet  bool
	Muted  bool
	Told   time.Time     // people were told of it, or were to be: that Slack was away calls nobody off
	Worse  time.Time     // it last became worse; zero: never
	Route  string        // whose pager it is; "": none is left
	After  time.Duration // the pager is called when nobody has been on it for so long
	Case   record.Triage
}

// since is since when nobody has been on the attack; false if the pager need not be called, as long as nothing changes.
func (u Unclaimed) since() (time.Time, bool) {
	since := record.Later(u.Told, u.Case.Released)
	if v := u.Case.Verdict; v != nil && (v.Is == "false_alarm" || v.Is == "test") {
		if !u.Worse.After(v.At) {
			return time.Time{}, false
		}
		since = record.Later(since, u.Worse) // it isn't what it was when that was said
	}
	return since, u.Case.Owner == nil && !u.Muted && !u.Attack.FalsePositive()
}

// PagesAt is when the pager is called if nothing changes, the last page being what it is; false if it isn't called. For one time in which
// nobody is on it the pager is called once, and for an attack that is over only if it is an incident. One that becomes an incident calls the
// incident's, whoever was called before.
func (u Unclaimed) PagesAt(last record.Page) (since, at time.Time, ok bool) {
	since, ok = u.since()
	switch {
	case !ok, last.Open(), !since.After(last.Since) && !u.Escalates(last), u.Quiet && !u.Attack.Incident():
		return time.Time{}, time.Time{}, false
	}
	return since, since.Add(u.After), true
}

// Escalates reports whether the attack has become an incident since, which has another pager.
func (u Unclaimed) Escalates(last record.Page) bool {
	return u.Attack.Incident() && !last.Incident && u.Route != "" && u.Route != last.Route
}

// Over reports whether nobody need be called by an open page any more: somebody was on the attack meanwhile, or it is none.
func (u Unclaimed) Over(open record.Page) bool {
	since, wanted := u.since()
	return !wanted || since.After(open.Since)
}
