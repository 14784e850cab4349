package poller

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	maxStormSources = 20 // that are kept of a storm, the busiest
	maxStormKinds   = 8  // types and applications likewise
	maxOdd          = 20 // odd ones out that a storm lists: as many as get cards of their own at once
)

// tally is what a storm's attacks are together.
type tally struct {
	attack apiclient.Attack // of all
	storm  record.Storm     // likewise
	alone  apiclient.Attack // hits, status and last hit of those without a card of their own: whether the others get worse their cards say
	on     int              // of these, those that go on
	routes map[int]bool     // indexes of the routes that take one of these

	sources  map[netip.Addr]*apiclient.Source // all that are listed, with their hits together
	unlisted bool                             // there may be others: the service doesn't list all of each attack
	top      map[netip.Addr]int               // how many attacks each is the busiest source of
	places   map[string]int                   // how many go there
}

// tally puts a storm's attacks together as they were last read. Of a storm that is over and quiet, or has lost its last attack, nothing changes any more
// but who has a card: an attack that stirs again gets one, or belongs to another storm.
func (p *Poller) tally(u *Update, r reading, last record.AttackState) tally {
	t := tally{routes: map[int]bool{}, sources: map[netip.Addr]*apiclient.Source{}, top: map[netip.Addr]int{}, places: map[string]int{}, storm: *last.Storm}
	s := &t.storm
	s.Grouped, s.OwnCards, s.Ongoing, s.StillTrying, s.Hits, s.Through = 0, 0, 0, 0, 0, 0
	s.Status, s.Types, s.Apps, s.Sources = map[apiclient.Status]int{}, map[string]int{}, map[int64]int{}, map[netip.Addr]int{}
	members := slices.SortedFunc(p.members(u, r, last.Attack.ID), func(a, b record.AttackState) int { return cmp.Compare(a.Attack.ID, b.Attack.ID) })
	for i, m := range members {
		if s.Grouped++; m.OwnCard {
			s.OwnCards++
		}
		if t.common(m.Attack, i == 0); m.Attack.FalsePositive() {
			continue
		}
		t.add(m)
		switch {
		case m.Quiet:
		case p.onlyKnocks(m.Attack, r.at):
			s.StillTrying++
		default:
			s.Ongoing++
		}
		if m.Grouped() {
			t.addAlone(m)
			t.routes[p.routeIndex(m.Attack)] = true
		}
	}
	left := len(members) == 0 && !last.Rebuilt && !blowing(last, r.at) // for the next storm
	if left || !last.Storm.Ended.IsZero() && last.Quiet {
		own := max(last.Storm.OwnCards, s.OwnCards)
		t.attack, t.alone, t.storm, t.on = last.Attack, apiclient.Attack{}, *last.Storm, 0
		if t.storm.OwnCards = own; left {
			t.storm.Ongoing, t.storm.StillTrying = 0, 0
		}
		return t
	}
	t.behind()
	t.odd(members)
	t.finish(last.Attack.ID)
	return t
}

// common takes in what the storm's attack can only tell if all attacks share it.
func (t *tally) common(a apiclient.Attack, first bool) {
	all := &t.attack
	if first {
		all.ClientID, all.App, all.Domain, all.Method, all.Type, all.Path, all.First = a.ClientID, a.App, a.Domain, a.Method, a.Type, a.Path, a.First
		return
	}
	if a.App != all.App {
		all.App = apiclient.Figure{}
	}
	for shared, one := range map[*string]string{&all.Domain: a.Domain, &all.Method: a.Method, &all.Type: a.Type} {
		if *shared != one {
			*shared = ""
		}
	}
	if a.Path != all.Path {
		all.Path = manyPaths
	}
	if !a.First.IsZero() && (all.First.IsZero() || a.First.Before(all.First)) {
		all.First = a.First
	}
}

// manyPaths is what the service writes where an attack has several.
const manyPaths = "[multiple]"

// add counts an attack.
func (t *tally) add(m record.AttackState) {
	a, s := m.Attack, &t.storm
	status := a.Status()
	s.Status[status]++
	s.Types[brief(a.Type)]++
	if a.App.Known {
		s.Apps[a.App.N]++
	}
	if status != apiclient.StatusBlocked {
		s.Through++
	}
	join(&t.attack, a)
	if a.Path != "" && a.Path != manyPaths {
		t.places[brief(strings.TrimSpace(a.Method+" "+a.Domain+a.Path))]++
	}
	var top apiclient.Source
	listed := int64(0)
	for i, source := range a.Sources {
		if !source.IP.IsValid() || slices.ContainsFunc(a.Sources[:i], func(before apiclient.Source) bool { return before.IP == source.IP }) {
			continue
		}
		listed++
		if s.Sources[source.IP]++; t.sources[source.IP] == nil {
			t.sources[source.IP] = &apiclient.Source{IP: source.IP, Country: source.Country}
		}
		all := t.sources[source.IP]
		all.Hits = plus(all.Hits, source.Hits)
		if !top.IP.IsValid() || source.Hits.N > top.Hits.N {
			top = source
		}
	}
	if top.IP.IsValid() {
		t.top[top.IP]++
	}
	t.unlisted = t.unlisted || !a.SourceCount.Known || a.SourceCount.N > listed
}

// addAlone counts an attack that only the storm tells of.
func (t *tally) addAlone(m record.AttackState) {
	join(&t.alone, m.Attack)
	if !m.Quiet {
		t.on++
	}
}

// join adds an attack's hits, takes its status over if that is worse, and its last hit if that is later.
func join(all *apiclient.Attack, a apiclient.Attack) {
	if a.BlockStatus == "" {
		a.BlockStatus = string(apiclient.StatusUnknown)
	}
	if all.BlockStatus == "" || badness(a.Status()) > badness(all.Status()) {
		all.BlockStatus = a.BlockStatus
	}
	all.Hits = plus(all.Hits, a.Hits)
	if a.Last.After(all.Last) {
		all.Last = a.Last
	}
}

// badness ranks a status for people: one that is unknown may be anything.
func badness(s apiclient.Status) int {
	return slices.Index([]apiclient.Status{apiclient.StatusBlocked, apiclient.StatusUnknown, apiclient.StatusPartly, apiclient.StatusNotBlocked}, s)
}

// plus adds figures as far as they are known.
func plus(a, b apiclient.Figure) apiclient.Figure {
	if !b.Known {
		return a
	}
	if b.N > math.MaxInt64-a.N {
		return apiclient.Known(math.MaxInt64)
	}
	return apiclient.Known(a.N + b.N)
}

// brief cuts what a stranger wrote.
func brief(text string) string { return apiclient.Attack{Path: text}.Brief().Path }

// behind finds the one source, or place, of at least half of the attacks.
func (t *tally) behind() {
	s, half := &t.storm, (t.storm.Grouped+1)/2
	s.Source, s.Country, s.SharedBy, s.Place = netip.Addr{}, "", 0, ""
	if source := most(t.top, netip.Addr.Compare, 1); len(source) > 0 && t.top[source[0]] >= half {
		s.Source, s.SharedBy = source[0], t.top[source[0]]
		s.Country = brief(t.sources[s.Source].Country)
		return
	}
	if place := most(t.places, strings.Compare, 1); len(place) > 0 && t.places[place[0]] >= half {
		s.Place, s.SharedBy = place[0], t.places[place[0]]
	}
}

// odd finds the attacks that are not like the others: somebody else's, or what most are not, let through. Those with a card of their own need no
// name here.
func (t *tally) odd(members []record.AttackState) {
	s := &t.storm
	s.Outliers, s.OutlierCount = nil, 0
	if !s.Source.IsValid() && 2*s.Through >= s.Grouped {
		return
	}
	for _, m := range members {
		a := m.Attack
		his := s.Source.IsValid() && slices.ContainsFunc(a.Sources, func(one apiclient.Source) bool { return one.IP == s.Source })
		if m.Grouped() && !his && !a.FalsePositive() && a.Status() != apiclient.StatusBlocked {
			s.Outliers = append(s.Outliers, a)
		}
	}
	s.OutlierCount = len(s.Outliers)
	slices.SortStableFunc(s.Outliers, func(a, b apiclient.Attack) int {
		return cmp.Or(badness(b.Status())-badness(a.Status()), cmp.Compare(b.Hits.N, a.Hits.N))
	})
	s.Outliers = slices.Clone(s.Outliers[:min(maxOdd, len(s.Outliers))])
	for i := range s.Outliers {
		s.Outliers[i] = s.Outliers[i].Brief()
	}
}

// finish makes the storm's attack of what was counted, and leaves out what is too much to keep.
func (t *tally) finish(id string) {
	a, s := &t.attack, &t.storm
	a.ID, s.Hits = id, a.Hits.N
	if !t.alone.Last.IsZero() {
		a.Last = t.alone.Last // since when it is quiet
	}
	for _, source := range t.sources {
		a.Sources = append(a.Sources, *source)
	}
	if !t.unlisted {
		a.SourceCount = apiclient.Known(int64(len(a.Sources)))
	}
	slices.SortFunc(a.Sources, func(x, y apiclient.Source) int { return cmp.Or(cmp.Compare(y.Hits.N, x.Hits.N), x.IP.Compare(y.IP)) })
	a.Sources = slices.Clone(a.Sources[:min(maxStormSources, len(a.Sources))])
	keep(s.Types, strings.Compare, maxStormKinds)
	keep(s.Apps, cmp.Compare[int64], maxStormKinds)
	keep(s.Sources, netip.Addr.Compare, maxStormSources)
}

// most are the keys with the highest counts, as many as n.
func most[K comparable](counts map[K]int, order func(a, b K) int, n int) []K {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(counts[b]-counts[a], order(a, b)) })
	return keys[:min(n, len(keys))]
}

// keep leaves only the keys with the highest counts.
func keep[K comparable](counts map[K]int, order func(a, b K) int, n int) {
	kept := most(counts, order, n)
	maps.DeleteFunc(counts, func(k K, _ int) bool { return !slices.Contains(kept, k) })
}

// members are what a storm gathered, as it was last read.
func (p *Poller) members(u *Update, r reading, storm string) iter.Seq[record.AttackState] {
	return func(yield func(record.AttackState) bool) {
		ids := u.gusts.joined[storm]
		if g := p.storms[storm]; g != nil {
			ids = slices.AppendSeq(slices.Clone(ids), maps.Keys(g.members))
		}
		for _, id := range ids {
			s, decided := u.Attacks[id]
			if !decided {
				s = p.shown[id]
			}
			if a, read := r.attacks[id]; read {
				s.Attack = a
			} else if seen := p.latest[id]; seen != nil {
				s.Attack = seen.attack
			}
			if s.StormID == storm && !yield(s) {
				return
			}
		}
	}
}

// blows reports whether an attack of a storm goes on. The caller holds mu.
func (p *Poller) blows(g *gathering, now time.Time) bool {
	for id := range g.members {
		seen := p.latest[id]
		if seen != nil && p.shown[id].Grouped() && !seen.attack.FalsePositive() && !p.look(seen.attack, now).silent() {
			return true
		}
	}
	return false
}
