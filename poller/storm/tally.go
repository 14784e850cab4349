package storm

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
	maxStormSources = 20 // kept of a storm, the busiest
	maxStormKinds   = 8  // types and applications
	maxUnblocked    = 20 // listed of what gets through: as many as get cards of their own at once
	maxBehind       = 5  // sources of what gets through, the busiest
)

// Tally is what a storm's attacks are together.
type Tally struct {
	Attack apiclient.Attack // of all
	Storm  record.Storm     // likewise
	Routes map[int]bool     // of the attacks without a card of their own

	last record.AttackState // as the storm was decided about last
	at   time.Time          // on the service's clock

	cardless apiclient.Attack // hits, status and last hit of those without a card of their own: the other cards say when theirs get worse
	ongoing  int              // of these, those that go on

	sources  map[netip.Addr]*record.StormSource // all that are listed
	unlisted bool                               // there may be others: the service doesn't list all of each attack
	top      map[netip.Addr]int                 // how many attacks each is the busiest source of
	places   map[string]int                     // how many attacks go there
}

// Member is an attack that a storm groups, as it was last read.
type Member struct {
	*record.AttackState

	OnlyTrying bool          // it would be quiet if no denied source of it were still trying
	Window     time.Duration // as AttackState.Window has it
	Route      int           // index of the route that takes it; -1: none does
}

// passes reports whether the attack gets through now, as far as is known.
func (m Member) passes(at time.Time) bool {
	return !m.Attack.FalsePositive() && m.Attack.Status() != apiclient.StatusBlocked && !m.Quiet && !m.OnlyTrying &&
		at.Sub(m.Attack.Last) < m.Window
}

// Sum puts a storm's attacks together. Of a storm that is over and quiet, or has lost its last attack, only changes who
// has a card: an attack that gets hits again gets a card, or belongs to another storm.
func Sum(last record.AttackState, members []Member, at time.Time) Tally {
	t := Tally{last: last, at: at, Routes: map[int]bool{}, top: map[netip.Addr]int{}, places: map[string]int{},
		Storm: *last.Storm}
	s := &t.Storm
	s.Grouped, s.OwnCards, s.Ongoing, s.StillTrying, s.FalsePositives = 0, 0, 0, 0, 0
	s.Status, s.Types, s.Apps, s.Sources = map[apiclient.Status]int{}, map[string]int{}, map[int64]int{},
		map[netip.Addr]int{}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Attack.ID, b.Attack.ID) })
	t.addCommon(members)
	for _, m := range members {
		t.add(m)
	}
	left := len(members) == 0 && !last.Rebuilt && !Active(last, at) // for the next storm
	if left || !last.Storm.Ended.IsZero() && last.Quiet {
		own := max(last.Storm.OwnCards, s.OwnCards)
		t.Attack, t.cardless, t.Storm, t.ongoing = last.Attack, apiclient.Attack{}, *last.Storm, 0
		if t.Storm.OwnCards = own; left {
			t.Storm.Ongoing, t.Storm.StillTrying = 0, 0
		}
		return t
	}
	s.Grouped = max(s.Grouped, last.Storm.Grouped) // one that is no longer stored, or belongs to a later storm, was grouped all the same
	t.sources = sourcesOf(slices.DeleteFunc(slices.Clone(members),
		func(m Member) bool { return m.Attack.FalsePositive() }))
	for ip, source := range t.sources {
		s.Sources[ip] = source.In
	}
	t.findCause()
	t.findUnblocked(members)
	t.finish()
	return t
}

// addCommon takes in what the storm's attack can only show if all attacks share it.
func (t *Tally) addCommon(members []Member) {
	all := &t.Attack
	for i, m := range members {
		a := m.Attack
		if i == 0 {
			all.ClientID, all.App, all.Domain, all.Method, all.Type, all.Path = a.ClientID, a.App, a.Domain, a.Method,
				a.Type, a.Path
		}
		shared(&all.App, a.App, apiclient.Figure{})
		shared(&all.Domain, a.Domain, "")
		shared(&all.Method, a.Method, "")
		shared(&all.Type, a.Type, "")
		shared(&all.Path, a.Path, apiclient.SeveralPaths)
		if !a.First.IsZero() {
			all.First = record.Earlier(all.First, a.First)
		}
	}
}

func shared[T comparable](all *T, one, otherwise T) {
	if *all != one {
		*all = otherwise
	}
}

// add counts an attack of the storm.
func (t *Tally) add(m Member) {
	s, a := &t.Storm, m.Attack
	if s.Grouped++; m.OwnCard {
		s.OwnCards++
	}
	if a.FalsePositive() {
		s.FalsePositives++
		return
	}
	switch {
	case m.Quiet:
	case m.OnlyTrying:
		s.StillTrying++
	default:
		s.Ongoing++
	}
	join(&t.Attack, a)
	if m.AttackState.Grouped() {
		if join(&t.cardless, a); !m.Quiet {
			t.ongoing++
		}
		s.Severity = record.Worst(s.Severity, record.SeverityOf(a))
		t.Routes[m.Route] = true
	}
	status := a.Status()
	s.Status[status]++
	s.Types[brief(a.Type)]++
	if a.App.Known {
		s.Apps[a.App.N]++
	}
	if status != apiclient.StatusBlocked {
		s.LastThrough = record.Later(s.LastThrough, a.Last)
	}
	if a.Path != "" && a.Path != apiclient.SeveralPaths {
		t.places[brief(strings.TrimSpace(a.Method+" "+a.Domain+a.Path))]++
	}
	if len(a.Sources) > 0 {
		t.top[slices.MaxFunc(a.Sources, func(x, y apiclient.Source) int { return cmp.Compare(x.Hits.N, y.Hits.N) }).IP]++
	}
	t.unlisted = t.unlisted || !a.SourceCount.Known || a.SourceCount.N > a.Listed()
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
	all.Last = record.Later(all.Last, a.Last)
}

// badness ranks a status for people: an unknown one may be anything.
func badness(s apiclient.Status) int {
	return slices.Index([]apiclient.Status{apiclient.StatusBlocked, apiclient.StatusUnknown, apiclient.StatusPartly,
		apiclient.StatusNotBlocked}, s)
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

// brief cuts what an attacker wrote.
func brief(text string) string { return apiclient.Attack{Path: text}.Brief().Path }

// findCause finds the one source, or place, of at least half of the attacks.
func (t *Tally) findCause() {
	s, half := &t.Storm, (t.Storm.Grouped+1)/2
	s.Source, s.Country, s.SharedBy, s.Place = netip.Addr{}, "", 0, ""
	for source, n := range keep(t.top, netip.Addr.Compare, 1) {
		if n >= half {
			s.Source, s.SharedBy, s.Country = source, s.Sources[source], brief(t.sources[source].Country)
			return
		}
	}
	for place, n := range keep(t.places, strings.Compare, 1) {
		if n >= half {
			s.Place, s.SharedBy = place, n
		}
	}
}

// findUnblocked finds what gets through now, and the sources behind that. Those with a card of their own are counted,
// and not listed.
func (t *Tally) findUnblocked(members []Member) {
	s := &t.Storm
	all := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return !m.passes(t.at) })
	slices.SortStableFunc(all, func(x, y Member) int {
		return cmp.Or(badness(y.Attack.Status())-badness(x.Attack.Status()), cmp.Compare(y.Attack.Hits.N, x.Attack.Hits.N))
	})
	if i := slices.IndexFunc(all, func(m Member) bool { return m.Attack.Status() == apiclient.StatusUnknown }); i > 0 {
		all = all[:i] // they come last
	}
	s.Through, s.Unblocked, s.UnblockedCount, s.Behind = map[apiclient.Status]int{}, nil, 0, nil
	for _, m := range all {
		if s.Through[m.Attack.Status()]++; !m.AttackState.Grouped() {
			continue
		}
		if s.UnblockedCount++; s.UnblockedCount <= maxUnblocked {
			s.Unblocked = append(s.Unblocked, m.Attack.Brief())
		}
	}
	for _, source := range first(maps.Values(sourcesOf(all)), maxBehind, byHits) {
		source.Country, source.InAll = brief(source.Country), s.Sources[source.IP]
		s.Behind = append(s.Behind, *source)
	}
}

// sourcesOf are the sources of attacks, with their hits together and in how many of them each is.
func sourcesOf(attacks []Member) map[netip.Addr]*record.StormSource {
	found := map[netip.Addr]*record.StormSource{}
	for _, m := range attacks {
		for _, source := range m.Attack.Sources {
			one := found[source.IP]
			if one == nil {
				one = &record.StormSource{Source: apiclient.Source{IP: source.IP, Country: source.Country}}
				found[source.IP] = one
			}
			one.Hits = plus(one.Hits, source.Hits)
			one.In++
		}
	}
	return found
}

// byHits puts the busiest source first.
func byHits(x, y *record.StormSource) int {
	return cmp.Or(cmp.Compare(y.Hits.N, x.Hits.N), y.In-x.In, x.IP.Compare(y.IP))
}

// finish makes the storm's attack of what was counted, and leaves out what is too much to keep.
func (t *Tally) finish() {
	a, s := &t.Attack, &t.Storm
	if a.ID = t.last.Attack.ID; s.Hits > a.Hits.N { // sampling, or an attack that is no longer stored
		a.Hits = apiclient.Known(s.Hits)
	}
	s.Hits = a.Hits.N
	a.Last = cmp.Or(t.cardless.Last, a.Last) // since when it is quiet
	for _, source := range first(maps.Values(t.sources), maxStormSources, byHits) {
		a.Sources = append(a.Sources, source.Source)
	}
	if !t.unlisted {
		a.SourceCount = apiclient.Known(int64(len(t.sources)))
	}
	s.Types = keep(s.Types, strings.Compare, maxStormKinds)
	s.AppCount = len(s.Apps)
	s.Apps = keep(s.Apps, cmp.Compare[int64], maxStormKinds)
	s.Sources = keep(s.Sources, netip.Addr.Compare, maxStormSources)
}

// first are the first n of all in an order. Sorting all would take as much memory again as they do.
func first[T any](all iter.Seq[T], n int, order func(a, b T) int) (sorted []T) {
	for one := range all {
		if i, _ := slices.BinarySearchFunc(sorted, one, order); i < n {
			sorted = slices.Insert(sorted[:min(n-1, len(sorted))], i, one)
		}
	}
	return sorted
}

// keep takes only the keys with the highest counts over, as many as n: a map in which others were deleted takes as much
// memory as before.
func keep[K comparable](counts map[K]int, order func(a, b K) int, n int) map[K]int {
	kept := make(map[K]int, n)
	for _, k := range first(maps.Keys(counts), n, func(a, b K) int { return cmp.Or(counts[b]-counts[a], order(a, b)) }) {
		kept[k] = counts[k]
	}
	return kept
}
