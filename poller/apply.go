package poller

import (
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
)

// apply takes a saved result over.
func (st *state) apply(snap snapshot, r result) {
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
	st.applyStopped(r)
	for id, s := range r.Attacks {
		st.put(id, s)
	}
	for id := range snap.records {
		st.plan(id)
	}
	for id := range r.Attacks {
		st.plan(id)
	}
	for id := range r.stopped {
		st.plan(id)
	}
	st.sources.apply(snap, r)
	if !snap.early { // else it is not known which of those from before are over
		st.suppressed = map[string]bool{}
	}
	maps.Copy(st.suppressed, r.suppressed)
	for _, id := range r.Delete {
		st.drop(id)
	}
	st.lastGood = r.LastGood
	if r.Cap != nil {
		st.cap = *r.Cap
	}
	if snap.whole || snap.capped != "" {
		st.sweepAt = snap.begin.Add(spread(sweepEvery))
	}
	maps.DeleteFunc(st.lastTries, func(_ netip.Addr, last time.Time) bool { return snap.at.Sub(last) >= st.ongoingFor })
	if snap.incidents {
		st.incidentsAt = snap.begin
	}
}

// see takes over how a record was read; judged tells that nothing is left to decide about it as long as it stays so.
func (st *state) see(id string, now *seenRecord, judged bool) {
	if before := st.records[id]; before != nil {
		delete(st.bySum, before.sum)
		st.count(before, -1)
	}
	st.count(now, 1)
	if judged {
		st.bySum[now.sum] = now
	} else {
		now.sum = 0
	}
	st.records[id] = now
}

// count adds a record to those that are no incidents, or takes it off.
func (st *state) count(seen *seenRecord, n int) {
	if !seen.attack.Incident() {
		st.plain += n
	}
}

// drop forgets a record, or a storm.
func (st *state) drop(id string) {
	if before := st.records[id]; before != nil {
		delete(st.bySum, before.sum)
		st.count(before, -1)
	}
	delete(st.records, id)
	delete(st.attacks, id)
	delete(st.withPager, id)
	delete(st.suppressed, id)
	delete(st.changes.before, id)
	delete(st.changes.decided, id)
	st.agenda.drop(id)
}

// note keeps what a record was before it changed. One that was not read since the start may have changed long ago.
func (c *changeLog) note(id string, before *seenRecord) {
	switch _, noted := c.before[id]; {
	case noted:
	case before == nil || before.stored:
		c.before[id] = nil
	default:
		c.before[id] = before.attack
	}
}

// applyStorms takes over what a result says of storms, before its attacks are taken over.
func (st *state) applyStorms(r result) {
	st.arrivals = r.storms.Arrivals
	for id := range r.storms.Begun {
		st.storms[id] = &grouping{members: map[string]bool{}}
	}
	for id, attacks := range r.storms.Joined {
		for _, attack := range attacks {
			if before := st.storms[st.attacks.of(attack).StormID]; before != nil {
				delete(before.members, attack)
			}
			st.storms[id].members[attack] = true
		}
	}
	for id, until := range r.storms.CheckAt {
		if g := st.storms[id]; g != nil {
			g.waits, g.until = !until.IsZero(), until
		}
	}
	for _, id := range r.Delete {
		if g := st.storms[st.attacks.of(id).StormID]; g != nil {
			delete(g.members, id)
		}
		delete(st.storms, id)
	}
}

// apply notes that a snapshot was counted, or that it makes the count stale.
func (c *sourceCount) apply(snap snapshot, r result) {
	if r.counted {
		c.at, c.stale = snap.begin, false
	} else {
		c.stale = c.stale || len(snap.changed) > 0 || snap.whole
	}
	if r.Sources != nil {
		c.stored = r.Sources
	}
}

// spread is a duration give or take a tenth.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*9/10, d*11/10) }
