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

// countEvery is how often sources are counted at most: all that is known is gone through, and who clicks does well with a figure of a minute ago.
const countEvery = time.Minute

// maxSeen is how many sources are remembered.
const maxSeen = 2000

// count counts anew in how many attacks each source is, when it is time to and something that counts may have changed; nil when there is nothing
// new to remember.
func (p *Poller) count(r reading) map[netip.Addr]record.SourceActivity {
	p.uncounted = p.uncounted || r.ended // what left the lookback changes nothing that is read
	if !p.uncounted || r.begin.Sub(p.counted) < countEvery {
		return nil
	}
	p.counted, p.uncounted = r.begin, false
	c := counting{from: r.from, attacks: map[netip.Addr]int{}, apps: map[netip.Addr]int{}, placed: map[place]bool{}}
	for id, s := range p.latest {
		if _, read := r.attacks[id]; !read {
			c.add(s.attack)
		}
	}
	for _, a := range r.attacks {
		c.add(a)
	}
	seen := c.busiest()
	if p.seen != nil && maps.Equal(seen, p.seen) {
		return nil
	}
	return seen
}

// place is an application at which a source was seen.
type place struct {
	source netip.Addr
	app    int64
}

// counting is what was counted so far.
type counting struct {
	from          time.Time
	attacks, apps map[netip.Addr]int
	placed        map[place]bool
}

// add counts an attack. Results of measures are none, nor is what a person found to be none, and what left the lookback isn't counted.
func (c counting) add(a apiclient.Attack) {
	if a.Result() || a.FalsePositive() || a.Last.Before(c.from) {
		return
	}
	for i, source := range a.Sources {
		twice := func(s apiclient.Source) bool { return s.IP == source.IP }
		if !source.IP.IsValid() || slices.ContainsFunc(a.Sources[:i], twice) {
			continue
		}
		c.attacks[source.IP]++
		if at := (place{source.IP, a.App.N}); a.App.Known && !c.placed[at] {
			c.placed[at] = true
			c.apps[source.IP]++
		}
	}
}

// busiest are the sources in several attacks, as many of them as are remembered.
func (c counting) busiest() map[netip.Addr]record.SourceActivity {
	var several []netip.Addr
	for source, n := range c.attacks {
		if n > 1 {
			several = append(several, source)
		}
	}
	slices.SortFunc(several, func(x, y netip.Addr) int {
		return cmp.Or(c.attacks[y]-c.attacks[x], c.apps[y]-c.apps[x], x.Compare(y))
	})
	seen := map[netip.Addr]record.SourceActivity{}
	for _, source := range several[:min(maxSeen, len(several))] {
		seen[source] = record.SourceActivity{Attacks: c.attacks[source], Apps: c.apps[source]}
	}
	return seen
}
