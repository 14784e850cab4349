package poller

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// settleAt is how many new records are very many.
const settleAt = 5_000

// reader reads the service once.
type reader struct {
	*Poller
	snapshot
}

// read asks the service. After an error the snapshot holds what came before it.
func (r *reader) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*r.cfg.Limits.Time) // attacks have their own limit: this one is for incidents, which are all read
	defer cancel()
	if err := r.readNewest(ctx); err != nil {
		return fmt.Errorf("read attacks: %w", err)
	}
	if due := r.begin.Sub(r.st.incidentsAt) >= incidentsEvery; !r.incidents && (due || r.capped != "") {
		if err := r.readIncidents(ctx); err != nil {
			return err
		}
	}
	if r.mixed != nil {
		r.whole, r.incidents = false, false
		return fmt.Errorf("read attacks: %w", r.mixed)
	}
	r.good = true
	return nil
}

// broken is an error that ends a listing. Records of another client don't: the account's own are read on.
func (r *reader) broken(err error) error {
	if apiclient.KindOf(err) != apiclient.Foreign {
		return err
	}
	r.mixed = err
	return nil
}

// readNewest reads from the newest record to the first page that is old enough and holds nothing unknown; in a sweep,
// or if there is no such page, to the end of the lookback or to a limit. It settles what is new on the first page, on
// all before the first page without anything new, and whenever that is very much: the other pages may be many, and
// people wait.
func (r *reader) readNewest(ctx context.Context) error {
	var until time.Time // in a sweep nothing is old enough
	first, known, sweep := true, false, !r.begin.Before(r.st.sweepAt)
	for page, err := range r.cfg.API.Attacks(ctx, apiclient.AttackFilter{From: r.from, Known: r.known}) {
		if err := r.broken(err); err != nil {
			return err
		}
		if first {
			r.at = r.cfg.Clock.Now() // the answer may have set it
		}
		if first && !sweep {
			until = r.readUntil()
		}
		changed, oldest := r.take(page)
		if first && r.floods(page.Attacks) { // people are notified of incidents first
			if err := r.readIncidents(ctx); err != nil {
				return err
			}
		}
		if first && changed {
			if err := r.settleEarly(ctx, 1); err != nil {
				return err
			}
		}
		first = false
		if !oldest.IsZero() {
			r.reached = record.Earlier(r.reached, oldest)
		}
		r.bytes += page.Bytes
		least := settleAt
		switch r.capped = r.cfg.Limits.reached(&r.snapshot); {
		case !r.reached.IsZero() && r.reached.Before(r.from): // by a service that ignores the filter
			r.whole, r.capped, r.incidents = true, "", true
			return nil
		case r.capped != "":
			r.whole = r.capped != tooSlow
			return nil
		case !changed && !r.reached.IsZero() && r.reached.Before(until):
			return nil
		case !changed && !known && len(r.changed) > 0:
			known, least = true, 1 // and so is what follows
		}
		if err := r.settleEarly(ctx, least); err != nil {
			return err
		}
	}
	r.whole, r.incidents = true, true
	return nil
}

// settleEarly settles what was read, if that is so much, before the poll reads on: beside what is kept of new records,
// they take memory until then. Records that must be judged again stay in the snapshot, so that no other is judged
// twice. At the account's first poll people are notified of all as a whole, unless it is very much.
func (r *reader) settleEarly(ctx context.Context, least int) error {
	if r.st.lastGood.IsZero() {
		least = settleAt
	}
	if len(r.changed) < least {
		return nil
	}
	early := r.snapshot
	early.early = true
	d := r.decide(ctx, early)
	if err := r.settle(ctx, d); err != nil {
		return err
	}
	r.same, r.changed = nil, nil
	maps.DeleteFunc(r.records, func(id string, _ *apiclient.Attack) bool { return !d.again[id] })
	maps.DeleteFunc(r.sums, func(id string, _ uint64) bool { return !d.again[id] })
	return nil
}

// floods reports whether the first page holds so many new attacks that more pages of them may follow.
func (r *reader) floods(page []apiclient.Attack) bool {
	unknown := 0
	for _, a := range page {
		if r.st.records[a.ID] == nil {
			unknown++
		}
	}
	return r.cfg.Account.Storm.Over > 0 && !r.st.lastGood.IsZero() && unknown > r.cfg.Account.Storm.Over
}

// readIncidents reads them all.
func (r *reader) readIncidents(ctx context.Context) error {
	for page, err := range r.cfg.API.Attacks(ctx,
		apiclient.AttackFilter{From: r.from, IncidentsOnly: true, Known: r.known}) {
		if err := r.broken(err); err != nil {
			return fmt.Errorf("read incidents: %w", err)
		}
		r.take(page)
		if err := r.settleEarly(ctx, settleAt); err != nil {
			return err
		}
	}
	r.incidents = true
	return nil
}

// readUntil is how far back to read at least: past the last good poll, and past the last hit of each attack that is
// due to go quiet or to pause, now and not when a mute ends. That costs some pages once for each of these.
func (r *reader) readUntil() time.Time {
	until := r.st.lastGood.Add(-overlap)
	for id, at := range r.st.agenda {
		if at.After(r.at) || r.st.suppressed[id] {
			continue
		}
		s, o := r.st.attacks.of(id), r.st.observe(*r.st.records[id].attack, r.at, nil)
		if !s.Quiet && o.Silent() || !s.Paused && o.Pauses(s) {
			until = record.Earlier(o.Attack.Last, until)
		}
	}
	return until
}

// known reports whether the record with that sum is one that is watched.
func (r *reader) known(sum uint64) bool { return r.st.bySum[sum] != nil }

// take keeps a page's records, reports whether one of them is unknown or has changed, and says when the oldest was last
// hit. Records come twice when the list shifts while it is read. One that is unknown and older than the lookback, or
// than what a cap dropped, is left out: it may have been deleted already.
func (r *reader) take(page apiclient.AttackPage) (changed bool, oldest time.Time) {
	count := func(a *apiclient.Attack) {
		if !a.Last.IsZero() && (oldest.IsZero() || a.Last.Before(oldest)) {
			oldest = a.Last
		}
		if !a.Incident() {
			r.attacks++
		}
	}
	for _, sum := range page.Known {
		seen := r.st.bySum[sum]
		r.same = append(r.same, seen)
		count(seen.attack)
	}
	for i, a := range page.Attacks {
		count(&a)
		before, known := r.st.records[a.ID]
		if a.ID == "" || !known && !a.Last.IsZero() &&
			(a.Last.Before(r.from) || !a.Incident() && !a.Last.After(r.st.cap.Edge)) {
			continue
		}
		if r.sums[a.ID] = page.Sums[i]; known && before.attack.Equal(a) {
			r.records[a.ID] = before.attack // the same, but held in memory once
		} else {
			r.records[a.ID], changed, r.changed = new(a), true, append(r.changed, a.ID)
		}
		if !a.Result() {
			continue
		}
		for _, source := range a.Sources {
			for _, ip := range []netip.Addr{source.IP, apiclient.Net64(source.IP)} { // attacks may list it by either
				r.tries[ip] = record.Later(r.tries[ip], a.Last)
			}
		}
	}
	return changed, oldest
}

// A record can change without a new hit, and then it keeps its place far down the list. So now and then more is read
// than the new end of it. A service with n records in the lookback, i of them incidents, is asked n/100+1 times in a
// sweep and i/100+1 times for the incidents; a poll that finds nothing new asks once.
const (
	sweepEvery     = 10 * time.Minute
	incidentsEvery = time.Minute
	overlap        = 2 * time.Minute // the service may list a hit this long after it happened
)

// snapshot is what one poll has read.
type snapshot struct {
	begin     time.Time                    // on this machine's monotonic clock
	at        time.Time                    // when the first page came, on the service's clock; before, when the poll began
	from      time.Time                    // begin of the lookback
	records   map[string]*apiclient.Attack // by id; without those whose bytes are known
	sums      map[string]uint64            // of the bytes of each of records
	same      []*seenRecord                // those whose bytes are known
	changed   []string                     // ids of those that are unknown or were read otherwise before
	tries     map[netip.Addr]time.Time     // the last try of each denied or patched source: its hits leave the attack's record for one of their own
	attacks   int                          // that were read and are no incidents
	bytes     int                          // of the listing of attacks
	capped    limit                        // at which the poll stopped reading attacks; "": it didn't
	reached   time.Time                    // no record with a later hit was left out
	whole     bool                         // no record that is watched was left out
	incidents bool                         // no incident was left out
	early     bool                         // the poll reads on
	good      bool                         // the poll has read all that it wanted
	mixed     error                        // records of another client came in place of what may be the account's; nil: none did
}

// covers reports whether a hit later than last would have been seen.
func (s *snapshot) covers(last time.Time) bool {
	return s.mixed == nil && (s.whole && s.capped == "" || !s.reached.IsZero() && !last.Before(s.reached))
}
