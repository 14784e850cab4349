package poller

import (
	"reflect"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
)

// differing are the entries of either list that the other doesn't hold as they are.
func differing(before, after []apiclient.IPRule) []apiclient.IPRule {
	without := func(all, others []apiclient.IPRule) []apiclient.IPRule {
		byID := make(map[int64]apiclient.IPRule, len(others))
		for _, e := range others {
			byID[e.ID] = e
		}
		return slices.DeleteFunc(slices.Clone(all), func(e apiclient.IPRule) bool { return reflect.DeepEqual(byID[e.ID], e) })
	}
	return append(without(before, after), without(after, before)...)
}

// redrawRelisted has the cards drawn anew of attacks that go on and whose sources an entry names that changed: others edit the lists, too, and a
// source that somebody denied makes no more news by itself. It returns how many entries those were.
func (p *Poller) redrawRelisted(u *Update) int {
	p.mu.Lock()
	relisted := p.relisted
	p.mu.Unlock()
	if len(relisted) == 0 {
		return 0
	}
	for _, id := range slices.Sorted(slices.Values(p.goingOn())) {
		sources := p.shown[id].Attack.Sources
		if seen := p.latest[id]; seen != nil { // else it is a storm
			sources = seen.attack.Sources
		}
		if slices.ContainsFunc(relisted, func(e apiclient.IPRule) bool { return slices.ContainsFunc(sources, names(e)) }) {
			u.Stale = append(u.Stale, id)
		}
	}
	return len(relisted)
}

// names tells whether an entry names a source, by its address or country: of other kinds the attack says nothing.
func names(e apiclient.IPRule) func(apiclient.Source) bool {
	return func(s apiclient.Source) bool {
		if e.Kind == apiclient.KindRange {
			return e.Subnet.IsValid() && e.Subnet.Contains(s.IP.Unmap())
		}
		return s.Country != "" && slices.Contains(e.Values, s.Country)
	}
}

// forgetRelisted drops the entries whose cards have been marked.
func (p *Poller) forgetRelisted(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relisted = slices.Delete(p.relisted, 0, n)
}
