package efficacy

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
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
	grown := growth{since: p.Now.First, last: record.Earlier(p.Now.Last, g.At)} // now, if the last hit is unknown
	before := apiclient.Attack{Hits: apiclient.Known(0), SourceCount: apiclient.Known(0)}
	if p.Before != nil {
		before, grown.since = *p.Before, g.Since
		s.turned = before.Status() == apiclient.StatusNotBlocked &&
			(status == apiclient.StatusPartly || status == apiclient.StatusBlocked)
	}
	s.hits = grown.by(most.of(counted{p.Now.ID, netip.Addr{}}, before.Hits, p.Now.Hits, g.At), p.Now.Hits)
	for _, source := range before.Sources {
		if _, listed := shareOf(*p.Now, source.IP); !listed {
			most.of(counted{p.Now.ID, source.IP}, source.Hits, apiclient.Known(0), g.At)
		}
	}
	all := before.SourceCount.Known && before.SourceCount.N == before.Listed()
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

// ModeWindow is a time in which an application was in a mode in which the service registers no incidents.
type ModeWindow struct {
	App    int       `json:"application"` // apiclient.AllApps: those without a mode of their own
	Mode   string    `json:"mode"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until,omitzero"`   // zero: it has no end
	Change string    `json:"change,omitempty"` // "": others set it
}

// hidesIncidents reports whether no incident is registered in a mode.
func hidesIncidents(mode string) bool {
	return mode == apiclient.ModeOff || mode == apiclient.ModeSafeBlocking || mode == apiclient.ModeBlock
}

// ModeWindows are those between two moments, the oldest first: of changes, and of rules there now that no change
// explains.
func ModeWindows(changes []record.Change, rules []apiclient.Rule, from, until, now time.Time) (all []ModeWindow) {
	for _, ch := range changes {
		if m, ok := modeWindow(ch, changes, now); ok && m.From.Before(until) && (m.Until.IsZero() || m.Until.After(from)) {
			all = append(all, m)
		}
	}
	for _, rule := range rules {
		app, whole := words.ModeOf(rule)
		if !whole || !hidesIncidents(rule.Mode) || rule.Updated.After(until) {
			continue
		}
		own, _ := words.ModeRules(rules, app)
		explained := slices.ContainsFunc(all, func(m ModeWindow) bool { return m.App == app && m.goesOn(now) })
		if own != nil && own.ID == rule.ID && !explained {
			all = append(all, ModeWindow{App: app, Mode: rule.Mode, From: rule.Updated})
		}
	}
	slices.SortStableFunc(all, func(x, y ModeWindow) int { return x.From.Compare(y.From) })
	return all
}

// modeWindow is the one that a change made; ok reports whether it made one.
func modeWindow(ch record.Change, changes []record.Change, now time.Time) (m ModeWindow, ok bool) {
	if ch.Line.Name != "mode" || len(ch.Line.Words) < 2 || ch.State != record.StateDone && ch.State != record.StateHalf &&
		ch.State != record.StateUndone {
		return m, false
	}
	app, err := call.ModeApp(ch.Line.Words[0])
	m = ModeWindow{App: app, Mode: ch.Line.Words[1], From: ch.At, Until: ch.Until, Change: ch.ID}
	switch by := supersededBy(ch, changes); {
	case ch.State == record.StateUndone:
		m.Until = ch.EndedAt
	case by != nil:
		m.Until = by.At
	case ch.Overdue(now):
		m.Until = time.Time{} // it could not be returned
	}
	return m, err == nil && hidesIncidents(m.Mode)
}

func (m ModeWindow) goesOn(now time.Time) bool { return m.Until.IsZero() || m.Until.After(now) }

// Text says from when to when no incident could be registered, and why.
func (m ModeWindow) Text(a *config.Account, now time.Time) text.Text {
	can, is := "could", "was"
	if m.goesOn(now) {
		can, is = "can", "is"
	}
	line := text.Newf("No incidents *%v* be registered on %v", can, words.ModeApp(a, m.App))
	switch {
	case m.From.IsZero():
	case m.Until.IsZero():
		line.Addf(" since %v", m.From)
	default:
		line.Addf(" from %v to %v", m.From, m.Until)
	}
	line.Addf(": it %v in mode %v", is, m.Mode)
	return line
}
