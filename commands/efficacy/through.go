package efficacy

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// Through are the attack's listed sources that nothing stops, the busiest first, with the hits of each since the last change against the attack:
// what came before it says nothing of what is to be denied next. Since is when that was; zero: nothing was changed, and the hits are all.
func Through(s call.Situation) (sources []apiclient.Source, since time.Time) {
	mitigations := Mitigations(s)
	before := lastObserved(s)
	for _, source := range s.Attack.Sources {
		if slices.ContainsFunc(mitigations, func(m Mitigation) bool { return m.Finding != record.NotWorking && m.Denies(source) }) {
			continue
		}
		if before != nil {
			source.Hits = cameSince(before.Attack, source)
		}
		sources = append(sources, source)
	}
	slices.SortStableFunc(sources, func(x, y apiclient.Source) int { return cmp.Compare(y.Hits.N, x.Hits.N) })
	if before != nil {
		since = before.At
	}
	return sources, since
}

// lastObserved is the attack as it was when the last change against it was made that is still in force; nil: there is none, or it isn't known.
func lastObserved(s call.Situation) (last *record.Observation) {
	for _, c := range s.Changes {
		if c.InForce(s.Now) && c.Observed != nil && c.Observed.Attack.ID == s.Attack.ID && (last == nil || c.Observed.At.After(last.At)) {
			last = c.Observed
		}
	}
	return last
}

// cameSince is how many hits of a source came since an observation, at least: one that was not listed then had no more hits than each of those that were.
func cameSince(before apiclient.Attack, source apiclient.Source) apiclient.Figure {
	was, listed := shareOf(before, source.IP)
	if !listed && !allListed(before) {
		was = source.Hits
		for _, other := range before.Sources {
			if other.Hits.Known && other.Hits.N < was.N {
				was = other.Hits
			}
		}
	}
	if !source.Hits.Known || !was.Known {
		return apiclient.Figure{}
	}
	return apiclient.Known(max(0, source.Hits.N-was.N))
}
