package sandbox

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// How long the real service takes to act on a change, in seconds; what the page counts down from.
const (
	listSeconds = 60
	ruleSeconds = 180
)

// sourcesShown is how many sources of an attack, and of the traffic, are listed.
const sourcesShown = 50

// serviceView is the service's side of an account.
type serviceView struct {
	waf.State
	// MoreAttacks is how many are left out of Attacks, MoreSources how many sources are only in the totals of Traffic.
	MoreAttacks int `json:"more_attacks"`
	MoreSources int `json:"more_sources"`
	// ListDelay and RuleDelay are in seconds: how long a change takes until it is in force.
	ListDelay float64 `json:"list_delay"`
	RuleDelay float64 `json:"rule_delay"`
}

func (w serviceAPI) getService(req *http.Request) (any, error) {
	name, err := w.account(req)
	if err != nil {
		return nil, err
	}
	state, err := w.WAF.State(name)
	if err != nil {
		return nil, err
	}
	view := serviceView{State: state, ListDelay: listSeconds / w.cfg.Speed, RuleDelay: ruleSeconds / w.cfg.Speed}
	if wanted := req.URL.Query().Get("attacks"); wanted != "" {
		most, err := strconv.Atoi(wanted)
		if err != nil || most < 0 {
			return nil, refuse(http.StatusBadRequest, "give attacks as how many of them")
		}
		view.keepUrgent(most)
	}
	for i := range view.Attacks {
		cutSources(&view.Attacks[i])
	}
	view.cutTraffic()
	return view, nil
}

// keepUrgent keeps the most urgent attacks, in an order that does not change with each hit.
func (v *serviceView) keepUrgent(most int) {
	last := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(v.Attacks, func(a, b waf.Attack) int {
		return cmp.Or(
			cmp.Compare(last(a.Running), last(b.Running)), cmp.Compare(last(a.VulnID != 0), last(b.VulnID != 0)),
			cmp.Compare(b.PerSecond, a.PerSecond), b.FirstTime.Compare(a.FirstTime))
	})
	v.MoreAttacks = max(0, len(v.Attacks)-most)
	v.Attacks = v.Attacks[:len(v.Attacks)-v.MoreAttacks]
}

// cutSources keeps an attack's busiest sources and adds the rest to the others: with thousands
// of them the page would fetch megabytes each second.
func cutSources(attack *waf.Attack) {
	if len(attack.Sources) <= sourcesShown {
		return
	}
	slices.SortStableFunc(attack.Sources, func(a, b waf.SourceState) int {
		return cmp.Compare(b.Through+b.Blocked, a.Through+a.Blocked)
	})
	for _, source := range attack.Sources[sourcesShown:] {
		attack.OtherSources.Through += source.Through
		attack.OtherSources.Blocked += source.Blocked
	}
	attack.Sources = attack.Sources[:sourcesShown]
}

// cutTraffic keeps the busiest sources of the traffic. The others stay in each second's totals.
func (v *serviceView) cutTraffic() {
	sums := map[string]int64{}
	for _, point := range v.Traffic {
		for ip, hits := range point.Sources {
			sums[ip] += hits.Through + hits.Blocked
		}
	}
	busiest := make([]string, 0, len(sums))
	for ip := range sums {
		busiest = append(busiest, ip)
	}
	slices.SortFunc(busiest, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	v.MoreSources = max(0, len(busiest)-sourcesShown)
	for _, point := range v.Traffic {
		for _, ip := range busiest[len(busiest)-v.MoreSources:] {
			delete(point.Sources, ip)
		}
	}
}
