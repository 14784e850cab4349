package poller

import (
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// state is what a poller knows of its account: what the store holds, and what was read since. Poll alone writes it, while it holds Poller.mu.
type state struct {
	ongoingFor time.Duration // Config.OngoingFor

	// As the store holds it.
	lastGood   time.Time                     // begin of the last good poll, on the service's clock
	saved      time.Time                     // lastGood as it was saved last
	firstStart time.Time                     // attacks that were over before it are no events, though nothing is stored of them; zero: all are
	outage     record.Outage                 // that people were notified of and that goes on
	attacks    map[string]record.AttackState // by attack id
	withPager  map[string]bool               // ids of attacks and storms with a pager; nil: the store was not loaded yet

	// As this process read or found it.
	records     map[string]*seenRecord   // every record as it was last read, results of mitigations too
	bySum       map[uint64]*seenRecord   // those of them that need not be read again as long as their bytes are the same
	lastTries   map[netip.Addr]time.Time // the last try of each source that is denied or patched, on the service's clock
	storms      map[string]*grouping     // by the storm's id
	arrivals    storm.Arrivals           // of the last while
	suppressed  map[string]bool          // attack ids whose events mutes suppressed in the last poll; after a start everything is read again
	agenda      agenda                   // of the attacks that time alone can make events
	paces       map[string]pace          // of attacks with a card that go on and have changed, by id
	sources     sourceCount              // in how many attacks each source is
	changes     changeLog                // that Config.Observer has yet to learn of
	sweepAt     time.Time                // when everything is to be read again, on this machine's clock
	incidentsAt time.Time                // when all incidents were last read, likewise
}

// seenRecord is a record as it was read. Nothing but at changes.
type seenRecord struct {
	attack apiclient.Attack
	at     time.Time // when it was last read, or found unchanged, on the service's clock
	stored bool      // it is from the store, and was not read since the start
	sum    uint64    // of its bytes, if it is in state.bySum; else 0
}

// newState is a state of which nothing is known.
func newState(ongoingFor time.Duration) *state {
	return &state{
		ongoingFor: ongoingFor, attacks: map[string]record.AttackState{}, records: map[string]*seenRecord{}, bySum: map[uint64]*seenRecord{},
		lastTries: map[netip.Addr]time.Time{},
		storms:    map[string]*grouping{}, suppressed: map[string]bool{}, paces: map[string]pace{}, agenda: agenda{times: map[string]time.Time{}, minutes: map[int64]map[string]bool{}},
		changes: changeLog{before: map[string]*apiclient.Attack{}},
	}
}

// loaded is the state that goes on from what the store holds. Everything is read again; what no record shows is kept from before.
func (st *state) loaded(stored State) *state {
	next := newState(st.ongoingFor)
	next.lastTries, next.suppressed, next.arrivals, next.incidentsAt = st.lastTries, st.suppressed, st.arrivals, st.incidentsAt
	next.lastGood, next.saved, next.firstStart, next.outage = stored.LastGood, stored.LastGood, stored.FirstStart, stored.Outage
	maps.Copy(next.attacks, stored.Attacks)
	next.withPager = map[string]bool{}
	for id, s := range next.attacks {
		if s.Storm == nil {
			next.records[id] = &seenRecord{attack: s.Attack, at: s.ObservedAt, stored: true}
		}
	}
	next.loadStorms()
	for id := range next.attacks {
		next.plan(id)
	}
	next.sources.stale = true
	return next
}

// apply takes a saved result over.
func (st *state) apply(snap snapshot, r result) {
	for _, id := range snap.changed {
		st.changes.note(id, st.records[id])
	}
	for id, a := range snap.records {
		st.see(id, &seenRecord{attack: a, at: snap.at, sum: snap.sums[id]}, !r.again[id])
	}
	for _, seen := range snap.same {
		seen.at = snap.at
	}
	for source, at := range snap.tries {
		if at.After(st.lastTries[source]) {
			st.lastTries[source] = at
		}
	}
	st.applyStorms(r)
	maps.Copy(st.attacks, r.Attacks)
	for id := range snap.records {
		st.plan(id)
	}
	for id := range r.Attacks {
		st.plan(id)
	}
	for _, id := range r.Delete {
		st.see(id, &seenRecord{}, false)
		delete(st.records, id)
		delete(st.attacks, id)
		delete(st.withPager, id)
		st.agenda.drop(id)
	}
	st.sources.apply(snap, r)
	st.applyPaces(r)
	if !snap.early { // else it is not known which of those from before are over
		st.suppressed = map[string]bool{}
	}
	maps.Copy(st.suppressed, r.suppressed)
	st.lastGood = r.LastGood
	if snap.whole {
		st.sweepAt, st.incidentsAt = snap.begin.Add(spread(sweepEvery)), snap.begin
		maps.DeleteFunc(st.lastTries, func(_ netip.Addr, last time.Time) bool { return snap.at.Sub(last) >= st.ongoingFor })
	}
	if snap.incidents {
		st.incidentsAt = snap.begin
	}
}

// see takes over how a record was read; judged tells that nothing is left to decide about it as long as it stays so.
func (st *state) see(id string, now *seenRecord, judged bool) {
	if before := st.records[id]; before != nil {
		delete(st.bySum, before.sum)
	}
	if judged {
		st.bySum[now.sum] = now
	} else {
		now.sum = 0
	}
	st.records[id] = now
}

// plan puts an attack with a card on the agenda for the time from which it can be an event without being read: for its figures, which wait for
// their minute, as a pause does, or for its silence. Whether it is one is not decided here.
func (st *state) plan(id string) {
	s := st.attacks[id]
	if s.Pager != nil {
		st.withPager[id] = true
	}
	if s.Storm != nil {
		return // each poll looks at it
	}
	a := st.records[id].attack
	switch {
	case !s.Notified || s.Rebuilt || a.Result() || a.FalsePositive(): // of one that was rebuilt from its card nothing is known yet
		st.agenda.drop(id)
	case compare.Differs(s.Attack, a):
		st.agenda.put(id, s.ObservedAt)
	case !s.Quiet && !a.Last.IsZero():
		at := a.Last.Add(st.ongoingFor)
		if pause := s.ObservedAt.Add(compare.RedrawAfter); compare.ShowsHits(s) && pause.Before(at) {
			at = pause
		}
		st.agenda.put(id, at)
	default:
		st.agenda.drop(id)
	}
}

// observe is an attack as it is at a time. Tries are those that the state doesn't hold yet.
func (st *state) observe(a apiclient.Attack, at time.Time, tries map[netip.Addr]time.Time) compare.Observation {
	trying := slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool { return st.stillTrying(s.IP, at, tries) })
	return compare.Observation{Attack: a, At: at, StillTrying: trying, OngoingFor: st.ongoingFor}
}

// stillTrying reports whether a denied source tried lately.
func (st *state) stillTrying(source netip.Addr, at time.Time, tries map[netip.Addr]time.Time) bool {
	source = source.Unmap()
	last := st.lastTries[source]
	if newer := tries[source]; newer.After(last) {
		last = newer
	}
	return at.Sub(last) < st.ongoingFor
}

// onlyTrying reports whether an attack would be silent if no denied source of it were still trying.
func (st *state) onlyTrying(a apiclient.Attack, at time.Time, tries map[netip.Addr]time.Time) bool {
	o := st.observe(a, at, tries)
	trying := o.StillTrying
	o.StillTrying = false
	return trying && o.Silent()
}

// ongoing are the attacks and storms whose cards say whether their figures can be refreshed.
func (st *state) ongoing() (ids []string) {
	for id, s := range st.attacks {
		if s.Notified && !s.Grouped() && !s.Quiet {
			ids = append(ids, id)
		}
	}
	return ids
}

// goesOn reports whether an attack, or one of a storm's, goes on whose id is meant.
func (st *state) goesOn(meant func(attackid string) bool, now time.Time) bool {
	for id, seen := range st.records {
		if a := seen.attack; meant(id) && !a.FalsePositive() && !a.Result() && !st.observe(a, now, nil).Silent() {
			return true
		}
	}
	for id, g := range st.storms {
		if meant(id) && st.stormGoesOn(g, now) {
			return true
		}
	}
	return false
}

// gap reports whether the account was not polled between the last good poll and this time.
func (st *state) gap(at time.Time, interval time.Duration) bool {
	if st.lastGood.IsZero() {
		return false
	}
	return !st.outage.From.IsZero() || at.Sub(st.lastGood) > max(leastGap, outageAfter*interval)
}

// agenda holds from when on attacks must be compared although they were not read, grouped by minute: so a poll need not go through all that are
// known.
type agenda struct {
	times   map[string]time.Time
	minutes map[int64]map[string]bool
}

func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// put enters an attack, or moves it.
func (a *agenda) put(id string, at time.Time) {
	a.drop(id)
	minute := minuteOf(at)
	if a.minutes[minute] == nil {
		a.minutes[minute] = map[string]bool{}
	}
	a.times[id], a.minutes[minute][id] = at, true
}

// drop takes an attack off, if it is on.
func (a *agenda) drop(id string) {
	minute := minuteOf(a.times[id])
	delete(a.times, id)
	if delete(a.minutes[minute], id); len(a.minutes[minute]) == 0 {
		delete(a.minutes, minute)
	}
}

// until gives the attacks that are due at a time, in no order.
func (a *agenda) until(at time.Time) iter.Seq[string] {
	return func(yield func(string) bool) {
		for minute, ids := range a.minutes {
			if minute > minuteOf(at) {
				continue
			}
			for id := range ids {
				if !a.times[id].After(at) && !yield(id) {
					return
				}
			}
		}
	}
}
