package poller

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// state is what a poller knows of its account: what the store holds, and what was read since. Poll alone writes it,
// while it holds Poller.mu.
type state struct {
	ongoingFor time.Duration // Config.OngoingFor

	// As the store holds it.
	lastGood   time.Time       // begin of the last good poll, on the service's clock
	saved      time.Time       // lastGood as it was saved last
	firstStart time.Time       // attacks that were over before it are no events, though nothing is stored of them; zero: all are
	outage     record.Outage   // that people were notified of and that goes on
	cap        record.Cap      // the last one
	attacks    attackStates    // by attack id
	withPager  map[string]bool // ids of attacks and storms with a pager; nil: the store was not loaded yet

	// As this process read or found it.
	records     map[string]*seenRecord     // every record as it was last read, results of mitigations too
	bySum       map[uint64]*seenRecord     // those of them that need not be read again as long as their bytes are the same
	stopped     map[string]*record.Stopped // tries of attacks that were stopped, by attack id, where no event has stored them yet
	lastTries   map[netip.Addr]time.Time   // the last try of each source that is denied or patched, on the service's clock
	storms      map[string]time.Time       // when to look at each storm again, by its id, on the service's clock; zero: not before something changes
	arrivals    storm.Arrivals             // of the last while
	suppressed  map[string]bool            // attack ids whose events mutes suppressed in the last poll; after a start everything is read again
	agenda      map[string]time.Time       // from when on attacks must be compared although they were not read, by id
	sources     sourceCount                // in how many attacks each source is
	changes     changeLog                  // that Config.Judge has yet to learn of
	sweepAt     time.Time                  // when everything is to be read again, on this machine's clock
	incidentsAt time.Time                  // when all incidents were last read, on this machine's clock
}

// attackStates are the states of attacks, by their ids. A state never changes: another one takes its place.
type attackStates map[string]*record.AttackState

// of is the state of an attack; zero if nothing is stored of it.
func (s attackStates) of(id string) record.AttackState {
	if one := s[id]; one != nil {
		return *one
	}
	return record.AttackState{}
}

// seenRecord is a record as it was read. Nothing but at changes, and where attack is held.
type seenRecord struct {
	attack *apiclient.Attack
	at     time.Time // when it was last read, or found unchanged, on the service's clock
	stored bool      // it is from the store, and was not read since the start
	sum    uint64    // of its bytes, if it is in state.bySum; else 0
}

// sourceCount is in how many attacks each source was when they were last counted.
type sourceCount struct {
	stored map[netip.Addr]record.SourceActivity // nil: not known
	stale  bool                                 // something that counts may have changed
	at     time.Time                            // on this machine's clock
}

// changeLog holds what the judge hasn't seen yet.
type changeLog struct {
	before  map[string]*apiclient.Attack // what records were before they changed, by id; nil: not known
	decided map[string]bool              // ids of attacks with a new decision, or with mitigations that only time can judge
	listed  time.Time                    // when the lists were read that were judged last
	last    time.Time                    // the last complete poll that was judged, on this machine's clock; zero: none yet
	whole   bool                         // all records were read since the start
}

// newState is a state that knows nothing.
func newState(ongoingFor time.Duration) *state {
	return &state{
		ongoingFor: ongoingFor, attacks: attackStates{}, records: map[string]*seenRecord{}, bySum: map[uint64]*seenRecord{},
		lastTries: map[netip.Addr]time.Time{}, stopped: map[string]*record.Stopped{},
		storms: map[string]time.Time{}, suppressed: map[string]bool{}, agenda: map[string]time.Time{},
		changes: changeLog{before: map[string]*apiclient.Attack{}, decided: map[string]bool{}},
	}
}

// loaded is the state that goes on from what the store holds, which it empties: memory need not hold very many attacks
// twice. Everything is read again; what no record shows is kept from before.
func (st *state) loaded(stored record.PollState) *state {
	next := newState(st.ongoingFor)
	next.lastTries, next.arrivals, next.incidentsAt = st.lastTries, st.arrivals, st.incidentsAt
	next.lastGood, next.saved, next.firstStart, next.outage, next.cap = stored.LastGood, stored.LastGood,
		stored.FirstStart, stored.Outage, stored.Cap
	next.withPager = map[string]bool{}
	for id, s := range stored.Attacks {
		delete(stored.Attacks, id)
		if len(s.Others) > 0 {
			next.changes.decided[id] = true
		}
		if next.attacks[id] = &s; s.Storm != nil {
			next.storms[id] = s.ObservedAt // perhaps a poll was saved in part
			continue
		}
		next.see(id, &seenRecord{attack: &s.Attack, at: s.ObservedAt, stored: true}, false)
		if st.suppressed[id] { // of others, that a flood pushed out, there is no record
			next.suppressed[id] = true
		}
	}
	for id := range next.attacks {
		next.plan(id)
	}
	next.sources.stale = true
	return next
}

// plan puts an attack with a card on the agenda for the time from which it can be an event without being read: for its
// figures, which wait for their minute, as a pause does, or for its silence. Whether it is one is not decided here.
func (st *state) plan(id string) {
	s := st.attacks.of(id)
	if s.Pager != nil {
		st.withPager[id] = true
	}
	if s.Storm != nil {
		return // each poll looks at it
	}
	a := *st.records[id].attack
	delete(st.agenda, id)
	switch {
	case !s.Notified || s.Rebuilt || a.Result() || a.FalsePositive(): // of one that was rebuilt from its card nothing is known yet
	case compare.Differs(s.Attack, a) || !s.Quiet && st.stoppedOf(id).Last().After(s.Stopped.Last()):
		st.agenda[id] = s.ObservedAt
	case !s.Quiet && !a.Last.IsZero():
		at := a.Last.Add(st.ongoingFor)
		if compare.ShowsHits(s) {
			at = record.Earlier(s.ObservedAt.Add(compare.RedrawAfter), at)
		}
		if !s.Paused {
			at = record.Earlier(compare.PausesAt(s, a, st.ongoingFor), at)
		}
		st.agenda[id] = at
	}
}

// observe is an attack as it is at a time. Tries are those that the state doesn't hold yet.
func (st *state) observe(a apiclient.Attack, at time.Time, tries map[netip.Addr]time.Time) compare.Observation {
	trying := slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool { return st.stillTrying(s.IP, at, tries) })
	return compare.Observation{Attack: a, At: at, StillTrying: trying, Stopped: st.stoppedOf(a.ID),
		OngoingFor: st.ongoingFor}
}

// stillTrying reports whether a denied source tried lately.
func (st *state) stillTrying(source netip.Addr, at time.Time, tries map[netip.Addr]time.Time) bool {
	source = source.Unmap()
	return at.Sub(record.Later(st.lastTries[source], tries[source])) < st.ongoingFor
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

// goesOn reports whether an attack, or one that a storm groups, goes on whose id, or the storm's, is meant.
func (st *state) goesOn(meant func(attackid string) bool, now time.Time) bool {
	for id, seen := range st.records {
		s := st.attacks.of(id)
		goesOn := !seen.attack.FalsePositive() && !seen.attack.Result() && !st.observe(*seen.attack, now, nil).Silent()
		if goesOn && (meant(id) || s.Grouped() && meant(s.StormID)) {
			return true
		}
	}
	return false
}

// apply takes a saved decision over.
func (st *state) apply(d *decision) {
	for id, a := range d.records {
		st.see(id, &seenRecord{attack: a, at: d.at, sum: d.sums[id]}, !d.again[id])
	}
	for _, seen := range d.same {
		seen.at = d.at
	}
	for source, at := range d.tries {
		st.lastTries[source] = record.Later(st.lastTries[source], at)
	}
	st.arrivals = d.storms.Arrivals
	maps.Copy(st.storms, d.checkAt)
	maps.Copy(st.stopped, d.stopped)
	for id, s := range d.Attacks {
		st.put(id, s)
	}
	for id := range d.records {
		st.plan(id)
	}
	for id := range d.Attacks {
		st.plan(id)
	}
	for id := range d.stopped {
		st.plan(id)
	}
	st.sources.apply(d)
	if !d.early { // else it is not known which of those from before are over
		st.suppressed = map[string]bool{}
	}
	maps.Copy(st.suppressed, d.suppressed)
	for _, id := range d.Delete {
		st.drop(id)
	}
	st.lastGood = d.LastGood
	if d.Cap != nil {
		st.cap = *d.Cap
	}
	if d.whole || d.capped != "" {
		st.sweepAt = d.begin.Add(spread(sweepEvery))
	}
	maps.DeleteFunc(st.lastTries, func(_ netip.Addr, last time.Time) bool { return d.at.Sub(last) >= st.ongoingFor })
	if d.incidents {
		st.incidentsAt = d.begin
	}
}

// put takes the state of an attack over. The record as it was read is held in memory once if that is the one in the
// state. What was seen stopped is kept beside it until an event has stored that.
func (st *state) put(id string, s record.AttackState) {
	st.attacks[id] = &s
	if seen := st.records[id]; seen != nil && seen.attack.Equal(s.Attack) {
		seen.attack = &s.Attack
	}
	if !s.Stopped.Last().Before(st.stopped[id].Last()) || s.Quiet {
		delete(st.stopped, id)
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

// drop forgets a record, or a storm.
func (st *state) drop(id string) {
	if before := st.records[id]; before != nil {
		delete(st.bySum, before.sum)
	}
	delete(st.records, id)
	delete(st.attacks, id)
	delete(st.storms, id)
	delete(st.stopped, id)
	delete(st.withPager, id)
	delete(st.suppressed, id)
	delete(st.changes.before, id)
	delete(st.changes.decided, id)
	delete(st.agenda, id)
}

// note keeps what a record was before it changed. One that was not read since the start may have changed long ago.
func (c *changeLog) note(id string, before *seenRecord) {
	if _, noted := c.before[id]; noted {
		return
	}
	if c.before[id] = nil; before != nil && !before.stored {
		c.before[id] = before.attack
	}
}

// apply notes that a snapshot was counted, or that it makes the count stale.
func (c *sourceCount) apply(d *decision) {
	if d.counted {
		c.at, c.stale = d.begin, false
	} else {
		c.stale = c.stale || len(d.changed) > 0 || d.whole
	}
	if d.Sources != nil {
		c.stored = d.Sources
	}
}

// spread is a duration give or take a tenth.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*9/10, d*11/10) }
