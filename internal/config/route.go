package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Mismatch names the first key of a match of the account's that an attack doesn't meet; "" if it meets all. Hits that
// are unknown are enough.
func (a *Account) Mismatch(m Match, attack apiclient.Attack) string {
	is := func(words []string, one string) bool { return len(words) == 0 || slices.Contains(words, one) }
	sameApp := func(name string) bool { return attack.App == apiclient.Known(int64(a.ApplicationID(name))) }
	sameHost := func(host string) bool { return strings.EqualFold(host, attack.Domain) }
	switch kind := m.OnlyKind(); {
	case kind == KindIncident && !attack.Incident(), kind == KindAttack && attack.Incident():
		return "kind"
	case !is(m.Type, attack.Type):
		return "type"
	case len(m.Application) > 0 && !slices.ContainsFunc(m.Application, sameApp):
		return "application"
	case len(m.Host) > 0 && !slices.ContainsFunc(m.Host, sameHost):
		return "host"
	case !is(m.Status, string(attack.Status())):
		return "status"
	case !is(m.Severity, string(record.SeverityOf(attack))):
		return "severity"
	case attack.Hits.Known && attack.Hits.N < int64(m.MinHits):
		return "min_hits"
	}
	return ""
}

// TriedRoute is a route compared with an attack.
type TriedRoute struct {
	Route    Route
	Mismatch string // the key of its match that does not hold; "": it takes the attack
}

// Tried compares the account's routes with an attack, up to the first that takes it.
func (a *Account) Tried(attack apiclient.Attack) []TriedRoute {
	var all []TriedRoute
	for _, r := range a.InForce() {
		t := TriedRoute{r, a.Mismatch(r.Match, attack)}
		if all = append(all, t); t.Mismatch == "" {
			break
		}
	}
	return all
}

// Suppresses reports whether it is one of the quiet hours, by a zone's clock on the wall (nil: UTC's), and the attack
// mentions no people in them: it is no incident and is blocked. Pagers are called at any hour.
func (q Quiet) Suppresses(zone *time.Location, a apiclient.Attack, at time.Time) bool {
	return !a.Incident() && a.Status() != apiclient.StatusNotBlocked && q.covers(at.In(cmp.Or(zone, time.UTC)))
}

func (q Quiet) covers(at time.Time) bool {
	from, to := q.Span()
	now := at.Hour()*60 + at.Minute()
	if from <= to {
		return from <= now && now < to
	}
	return from <= now || now < to
}
