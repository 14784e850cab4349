package poller

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// settleAt is how many new records are judged and stored before a poll reads on: beside what is kept of them, they take
// memory until then.
const settleAt = 5_000

// reader reads the service once.
type reader struct {
	cfg  *Config
	st   *state
	snap snapshot
	// settleEarly is given what is new on the first page, on all before the first page without anything new, and each
	// settleAt new records: the other pages may be many, and people wait. Records that must be judged again stay in the
	// snapshot, so that no other is judged twice.
	settleEarly func(ctx context.Context, snap snapshot) (again map[string]bool, err error)
}

// read asks the service. After an error the snapshot holds what came before it.
func (r *reader) read(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.cfg.Limits.Time) // attacks have their own limit: this one is for incidents, which are all read
	defer cancel()
	r.snap.from = r.snap.at.Add(-r.cfg.Account.Lookback)
	if err := r.readNewest(ctx); err != nil {
		return r.snap, fmt.Errorf("read attacks: %w", err)
	}
	if due := r.snap.begin.Sub(r.st.incidentsAt) >= incidentsEvery; !r.snap.incidents && (due || r.snap.capped != "") {
		if err := r.readIncidents(ctx); err != nil {
			return r.snap, err
		}
	}
	if r.snap.foreign != nil {
		r.snap.whole, r.snap.incidents = false, false
		return r.snap, fmt.Errorf("read attacks: %w", r.snap.foreign)
	}
	r.snap.good = true
	return r.snap, nil
}

// broken is an error that ends a listing. Records of another client don't: the account's own are read on.
func (r *reader) broken(err error) error {
	if apiclient.KindOf(err) != apiclient.Foreign {
		return err
	}
	r.snap.foreign = err
	return nil
}

// readNewest reads from the newest record to the first page that is old enough and holds nothing unknown; in a sweep,
// or if there is no such page, to the end of the lookback or to a limit.
func (r *reader) readNewest(ctx context.Context) error {
	s := &r.snap
	var until time.Time // in a sweep nothing is old enough
	first, known, sweep := true, false, !s.begin.Before(r.st.sweepAt)
	for page, err := range r.cfg.API.Attacks(ctx, apiclient.AttackFilter{From: s.from, Known: r}) {
		if err := r.broken(err); err != nil {
			return err
		}
		if first {
			s.at = r.cfg.Clock.Now() // the answer may have set it
		}
		if first && !sweep {
			until = r.readUntil()
		}
		changed, oldest := r.take(page)
		if first {
			if err := r.afterFirst(ctx, page.Attacks, changed); err != nil {
				return err
			}
		}
		first = false
		if !oldest.IsZero() {
			s.reached = earlier(s.reached, oldest)
		}
		s.bytes += page.Bytes
		switch s.capped = r.cfg.Limits.reached(s); {
		case !s.reached.IsZero() && s.reached.Before(s.from): // by a service that ignores the filter
			s.whole, s.capped, s.incidents = true, "", true
			return nil
		case s.capped != "":
			s.whole = s.capped != tooSlow
			return nil
		case !changed && !s.reached.IsZero() && s.reached.Before(until):
			return nil
		case !changed && !known && len(s.changed) > 0:
			known = true // and so is what follows
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
		if err := r.settleMany(ctx); err != nil {
			return err
		}
	}
	s.whole, s.incidents = true, true
	return nil
}

// afterFirst reads incidents before the other pages of a flood: people are notified of them first. Then it gives the
// first page on.
func (r *reader) afterFirst(ctx context.Context, page []apiclient.Attack, changed bool) error {
	if r.floods(page) {
		if err := r.readIncidents(ctx); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return r.settle(ctx)
}

// settle gives on what was read, but at the account's first poll: people are notified of that as a whole, unless it is
// very much.
func (r *reader) settle(ctx context.Context) error {
	if r.st.lastGood.IsZero() {
		return nil
	}
	return r.giveOn(ctx)
}

// settleMany gives on what was read if that is very much, also at the first poll.
func (r *reader) settleMany(ctx context.Context) error {
	if len(r.snap.changed) < settleAt {
		return nil
	}
	return r.giveOn(ctx)
}

func (r *reader) giveOn(ctx context.Context) error {
	again, err := r.settleEarly(ctx, r.snap)
	if err == nil {
		r.snap.settled(again)
	}
	return err
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
	for page, err := range r.cfg.API.Attacks(ctx, apiclient.AttackFilter{From: r.snap.from, IncidentsOnly: true, Known: r}) {
		if err := r.broken(err); err != nil {
			return fmt.Errorf("read incidents: %w", err)
		}
		r.take(page)
		if err := r.settleMany(ctx); err != nil {
			return err
		}
	}
	r.snap.incidents = true
	return nil
}

// readUntil is how far back to read at least: past the last good poll, and past the last hit of each attack that is
// due to go quiet or to pause, now and not when a mute ends. That costs some pages once for each of these.
func (r *reader) readUntil() time.Time {
	until := r.st.lastGood.Add(-overlap)
	for id := range r.st.agenda.until(r.snap.at) {
		s, o := r.st.attacks.of(id), r.st.observe(*r.st.records[id].attack, r.snap.at, nil)
		due := !s.Quiet && o.Silent() || !s.Paused && o.Pauses(s)
		if last := o.Attack.Last; due && !r.st.suppressed[id] && last.Before(until) {
			until = last
		}
	}
	return until
}

// Known implements apiclient.KnownRecords.
func (r *reader) Known(sum uint64) bool { return r.st.bySum[sum] != nil }

// take keeps a page's records, reports whether one of them is unknown or has changed, and says when the oldest was last
// hit. Records come twice when the list shifts while it is read. One that is unknown and older than the lookback, or
// than what a cap dropped, is left out: it may have been deleted already.
func (r *reader) take(page apiclient.AttackPage) (changed bool, oldest time.Time) {
	s := &r.snap
	for _, sum := range page.Known {
		seen := r.st.bySum[sum]
		if s.same = append(s.same, seen); !seen.attack.Last.IsZero() {
			oldest = earlier(oldest, seen.attack.Last)
		}
		if !seen.attack.Incident() {
			s.attacks++
		}
	}
	for i, a := range page.Attacks {
		if !a.Last.IsZero() {
			oldest = earlier(oldest, a.Last)
		}
		if !a.Incident() {
			s.attacks++
		}
		before, known := r.st.records[a.ID]
		if a.ID == "" || !known && !a.Last.IsZero() && (a.Last.Before(s.from) || !a.Incident() && !a.Last.After(r.st.cap.Edge)) {
			continue
		}
		if s.sums[a.ID] = page.Sums[i]; known && before.attack.Equal(a) {
			s.records[a.ID] = before.attack // the same, but held in memory once
		} else {
			s.records[a.ID], changed, s.changed = new(a), true, append(s.changed, a.ID)
		}
		if !a.Result() {
			continue
		}
		for _, source := range a.Sources {
			if a.Last.After(s.tries[source.IP]) {
				s.tries[source.IP] = a.Last
			}
		}
	}
	return changed, oldest
}

// earlier is the earlier of two times, of which the first may be zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
