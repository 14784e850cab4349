package poller

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// countEvery is how often sources are counted at most: counting goes through all that is known, and a figure of a minute ago is good enough.
const countEvery = time.Minute

// maxSources is how many sources are stored.
const maxSources = 2000

// countSources counts in how many attacks each source is, when it is time to and something that counts may have changed: then counted is true. The
// figures are nil when there is nothing new to store.
func countSources(st *state, snap snapshot) (figures map[netip.Addr]record.SourceActivity, counted bool) {
	stale := st.sources.stale || len(snap.changed) > 0 || snap.whole // what left the lookback changes nothing that is read
	if !stale || snap.begin.Sub(st.sources.at) < countEvery {
		return nil, false
	}
	c := tallied{from: snap.from, figures: map[netip.Addr]record.SourceActivity{}, seen: map[trait]bool{}}
	for id, s := range st.records {
		if _, read := snap.records[id]; !read {
			c.add(*s.attack)
		}
	}
	for _, a := range snap.records {
		c.add(*a)
	}
	figures = c.busiest()
	if st.sources.stored != nil && maps.Equal(figures, st.sources.stored) {
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

// tallied is what was counted so far.
type tallied struct {
	from    time.Time
	figures map[netip.Addr]record.SourceActivity
	seen    map[trait]bool
}

// add counts an attack. Results of mitigations and false positives aren't counted, nor is what left the lookback.
func (c tallied) add(a apiclient.Attack) {
	if a.Result() || a.FalsePositive() || a.Last.Before(c.from) {
		return
	}
	for _, source := range a.Sources {
		n := c.figures[source.IP]
		n.Attacks++
		if a.App.Known {
			n.Apps += c.first(trait{source: source.IP, of: "app", n: a.App.N})
		}
		n.Types += c.first(trait{source: source.IP, of: "type", kind: a.Type})
		if !a.First.IsZero() {
			n.Hours += c.first(trait{source: source.IP, of: "hour", n: a.First.Unix() / int64(time.Hour/time.Second)})
		}
		c.figures[source.IP] = n
	}
}

// first is 1 the first time that something is seen, and then 0.
func (c tallied) first(s trait) int {
	if c.seen[s] {
		return 0
	}
	c.seen[s] = true
	return 1
}

// busiest are the sources in several attacks, as many of them as are stored. They are copied: a map in which others were deleted takes as much memory
// as before.
func (c tallied) busiest() map[netip.Addr]record.SourceActivity {
	maps.DeleteFunc(c.figures, func(_ netip.Addr, n record.SourceActivity) bool { return n.Attacks < 2 })
	order := slices.SortedFunc(maps.Keys(c.figures), func(x, y netip.Addr) int {
		a, b := c.figures[x], c.figures[y]
		return cmp.Or(b.Attacks-a.Attacks, b.Apps-a.Apps, x.Compare(y))
	})
	kept := map[netip.Addr]record.SourceActivity{}
	for _, source := range order[:min(maxSources, len(order))] {
		kept[source] = c.figures[source]
	}
	return kept
}
