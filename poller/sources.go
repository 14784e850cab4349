package poller

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// countEvery is how often sources are counted at most: counting goes through all that is known, and a figure of a
// minute ago is good enough.
const countEvery = time.Minute

// maxSources is how many sources are stored.
const maxSources = 2000

// countSources counts in how many attacks each source is, when it is time to and something that counts may have
// changed: then counted is true. The figures are nil when there is nothing new to store. Results of mitigations and
// false positives aren't counted, nor is what left the lookback.
func (d *decision) countSources() (figures map[netip.Addr]record.SourceActivity, counted bool) {
	stale := d.st.sources.stale || len(d.changed) > 0 || d.whole // what left the lookback changes nothing that is read
	if !stale || d.begin.Sub(d.st.sources.at) < countEvery {
		return nil, false
	}
	all, seen := map[netip.Addr]record.SourceActivity{}, map[trait]bool{}
	first := func(t trait) int { // 1 the first time that it is seen, and then 0
		if seen[t] {
			return 0
		}
		seen[t] = true
		return 1
	}
	for _, known := range d.known() {
		a := known.attack
		if a.Result() || a.FalsePositive() || a.Last.Before(d.from) {
			continue
		}
		for _, source := range a.Sources {
			n := all[source.IP]
			n.Attacks++
			if a.App.Known {
				n.Apps += first(trait{source.IP, "app", "", a.App.N})
			}
			n.Types += first(trait{source.IP, "type", a.Type, 0})
			if !a.First.IsZero() {
				n.Hours += first(trait{source.IP, "hour", "", a.First.Unix() / int64(time.Hour/time.Second)})
			}
			all[source.IP] = n
		}
	}
	if figures = busiest(all); d.st.sources.stored != nil && maps.Equal(figures, d.st.sources.stored) {
		return nil, true
	}
	return figures, true
}

// trait is an application on which a source was seen, a type of its attacks, or an hour in which one began.
type trait struct {
	source netip.Addr
	of     string // app, type, hour
	kind   string
	n      int64
}

// busiest are the sources in several attacks, as many of them as are stored. They are copied: a map in which others
// were deleted takes as much memory as before.
func busiest(all map[netip.Addr]record.SourceActivity) map[netip.Addr]record.SourceActivity {
	maps.DeleteFunc(all, func(_ netip.Addr, n record.SourceActivity) bool { return n.Attacks < 2 })
	order := slices.SortedFunc(maps.Keys(all), func(x, y netip.Addr) int {
		a, b := all[x], all[y]
		return cmp.Or(b.Attacks-a.Attacks, b.Apps-a.Apps, x.Compare(y))
	})
	kept := map[netip.Addr]record.SourceActivity{}
	for _, source := range order[:min(maxSources, len(order))] {
		kept[source] = all[source]
	}
	return kept
}
