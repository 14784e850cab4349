package poller

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// mismatch names the first key of a match that does not hold; "" if all do. Hits that are unknown are enough.
func mismatch(account *config.Account, m config.Match, a apiclient.Attack) string {
	is := func(words []string, one string) bool { return len(words) == 0 || slices.Contains(words, one) }
	sameApp := func(name string) bool { return a.App == apiclient.Known(int64(account.ApplicationID(name))) }
	sameHost := func(host string) bool { return strings.EqualFold(host, a.Domain) }
	switch kind := m.OnlyKind(); {
	case kind == config.KindIncident && !a.Incident(), kind == config.KindAttack && a.Incident():
		return "kind"
	case !is(m.Type, a.Type):
		return "type"
	case len(m.Application) > 0 && !slices.ContainsFunc(m.Application, sameApp):
		return "application"
	case len(m.Host) > 0 && !slices.ContainsFunc(m.Host, sameHost):
		return "host"
	case !is(m.Status, string(a.Status())):
		return "status"
	case !is(m.Severity, string(record.SeverityOf(a))):
		return "severity"
	case a.Hits.Known && a.Hits.N < int64(m.MinHits):
		return "min_hits"
	}
	return ""
}

// TriedRoute is a route compared with an attack.
type TriedRoute struct {
	Route    config.Route
	Mismatch string // the key of its match that does not hold; "": it takes the attack
}

// Explain compares an account's routes with an attack, up to the first that takes it.
func Explain(account *config.Account, a apiclient.Attack) []TriedRoute {
	var all []TriedRoute
	for _, r := range account.InForce() {
		t := TriedRoute{r, mismatch(account, r.Match, a)}
		if all = append(all, t); t.Mismatch == "" {
			break
		}
	}
	return all
}
