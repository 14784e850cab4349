package efficacy

import (
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// growth is hits that came since the poll before, at the latest.
type growth struct {
	n           int64
	since, last time.Time
}

// delta is a pair taken apart: what came, in all and of each source that the service names.
type delta struct {
	record  *apiclient.Attack
	turned  bool // from not blocked to blocked, in part or whole: some were stopped
	hits    growth
	sources map[netip.Addr]growth
}

// deltaOf takes a pair apart. Of a source that wasn't listed before it isn't known how many of its hits are new, unless
// all were listed.
func deltaOf(g record.Poll, p record.AttackDelta, most highs) delta {
	s, status := delta{record: p.Now, sources: map[netip.Addr]growth{}}, p.Now.Status()
	grown := growth{since: p.Now.First, last: record.Earlier(p.Now.Last, g.At)} // of no known last hit, now
	before := apiclient.Attack{Hits: apiclient.Known(0), SourceCount: apiclient.Known(0)}
	if p.Before != nil {
		before, grown.since = *p.Before, g.Since
		s.turned = before.Status() == apiclient.StatusNotBlocked && (status == apiclient.StatusPartly || status == apiclient.StatusBlocked)
	}
	s.hits = grown.by(most.of(counted{p.Now.ID, netip.Addr{}}, before.Hits, p.Now.Hits, g.At), p.Now.Hits)
	for _, source := range before.Sources {
		if _, listed := shareOf(*p.Now, source.IP); !listed {
			most.of(counted{p.Now.ID, source.IP}, source.Hits, apiclient.Known(0), g.At)
		}
	}
	all := before.SourceCount.Known && before.SourceCount.N == int64(len(before.Sources))
	for _, source := range p.Now.Sources {
		was, listed := shareOf(before, source.IP)
		was = most.of(counted{p.Now.ID, source.IP}, was, source.Hits, g.At)
		if _, twice := s.sources[source.IP]; twice || !listed && !all {
			continue
		}
		if more := grown.by(was, source.Hits); more.n > 0 {
			s.sources[source.IP] = more
		}
	}
	return s
}

func (g growth) by(before, now apiclient.Figure) growth {
	if before.Known && now.Known && now.N > before.N {
		g.n = now.N - before.N
	}
	return g
}

// shareOf is how many of a record's hits a source sent; none of one that isn't listed.
func shareOf(a apiclient.Attack, source netip.Addr) (hits apiclient.Figure, listed bool) {
	for _, s := range a.Sources {
		if s.IP == source {
			return s.Hits, true
		}
	}
	return apiclient.Known(0), false
}

// highs are counts that fell below what was listed before: that comes of sampling, and what they rise again to isn't
// new.
type highs map[counted]high

// counted is a source's share of a record's hits; all of them under no source.
type counted struct {
	record string
	source netip.Addr
}

// high is the most that was listed.
type high struct {
	n  int64
	at time.Time // when less was listed last
}

// of is the most that was listed of a count before now.
func (h highs) of(key counted, before, now apiclient.Figure, at time.Time) apiclient.Figure {
	if !before.Known {
		return before
	}
	most := max(before.N, h[key].n)
	if now.Known && now.N >= most {
		delete(h, key)
	} else {
		h[key] = high{most, at}
	}
	return apiclient.Known(most)
}

// highKept is how long a high is kept: a record that was silent for an hour never grows again.
const highKept = 2 * time.Hour

func (h highs) prune(now time.Time) {
	maps.DeleteFunc(h, func(_ counted, one high) bool { return now.Sub(one.at) > highKept })
}
