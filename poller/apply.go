package poller

import (
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

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
