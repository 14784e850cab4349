package poller

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
)

// staleFor are the attacks and storms that go on and whose sources an entry names that was edited: others edit the lists, too, and a source that
// another person denied makes no event by itself.
func staleFor(st *state, edited []apiclient.IPRule) (ids []string) {
	if len(edited) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(slices.Values(st.ongoing())) {
		sources := st.attacks.of(id).Attack.Sources
		if seen := st.records[id]; seen != nil { // else it is a storm
			sources = seen.attack.Sources
		}
		if slices.ContainsFunc(edited, func(e apiclient.IPRule) bool { return slices.ContainsFunc(sources, names(e)) }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// names reports whether an entry names a source, by its address or country: the attack says nothing of other kinds.
func names(e apiclient.IPRule) func(apiclient.Source) bool {
	return func(s apiclient.Source) bool {
		if e.Kind == apiclient.KindRange {
			return e.Subnet.IsValid() && e.Subnet.Contains(s.IP.Unmap())
		}
		return s.Country != "" && slices.Contains(e.Values, s.Country)
	}
}
