package poller

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// A record can change without a new hit, and then it keeps its place far down the list. So now and then more is read
// than the new end of it. A service with n records in the lookback, i of them incidents, is asked n/100+1 times in a
// sweep and i/100+1 times for the incidents; a poll that finds nothing new asks once.
const (
	sweepEvery     = 10 * time.Minute
	incidentsEvery = time.Minute
	overlap        = 2 * time.Minute // the service may list a hit this long after it happened
)

// reading is what one poll has read.
type reading struct {
	begin   time.Time                   // on this machine's clock
	at      time.Time                   // the same on the service's
	from    time.Time                   // begin of the lookback
	attacks map[string]apiclient.Attack // by id
	changed []string                    // ids of those that are unknown or were read otherwise before
	reached time.Time                   // nothing hit after it was left out
	ended   bool                        // nothing at all was
	listed  bool                        // no incident was
}

// covers reports whether a hit later than last would have been seen.
func (r *reading) covers(last time.Time) bool {
	return r.ended || !r.reached.IsZero() && !last.Before(r.reached)
}

// read asks the service. After an error the reading holds what came before it.
func (p *Poller) read(ctx context.Context) (reading, error) {
	r := reading{begin: time.Now(), attacks: map[string]apiclient.Attack{}}
	r.at = r.begin.Add(p.skew)
	r.from = r.at.Add(-p.cfg.Lookback)
	if err := p.readNewest(ctx, &r); err != nil {
		return r, fmt.Errorf("read attacks: %w", err)
	}
	if r.ended || r.listed || r.begin.Sub(p.listed) < incidentsEvery {
		return r, nil
	}
	err := p.readIncidents(ctx, &r)
	return r, err
}

// readIncidents reads them all.
func (p *Poller) readIncidents(ctx context.Context, r *reading) error {
	for page, err := range p.cfg.API.Attacks(ctx, apiclient.AttackFilter{From: r.from, IncidentsOnly: true}) {
		if err != nil {
			return fmt.Errorf("read incidents: %w", err)
		}
		p.take(r, page.Attacks)
	}
	r.listed = true
	return nil
}

// floods reports whether the first page holds so many new attacks that more pages of them may follow. Then incidents are looked for before
// these are read: they are told first.
func (p *Poller) floods(page []apiclient.Attack) bool {
	unknown := 0
	for _, a := range page {
		if p.latest[a.ID] == nil {
			unknown++
		}
	}
	return p.cfg.Storm.Over > 0 && !p.lastGood.IsZero() && unknown > p.cfg.Storm.Over
}

// readUntil is how far back to read at least: past the last good poll, and past the last hit of every attack that is
// due to be called quiet, now and not when a mute ends. That costs some pages once for each of these.
func (p *Poller) readUntil(at time.Time) time.Time {
	until := p.lastGood.Add(-overlap)
	for id := range p.agenda.until(at) {
		look := p.look(p.latest[id].attack, at)
		if last := look.Attack.Last; !p.shown[id].Quiet && !p.held[id] && look.silent() && last.Before(until) {
			until = last
		}
	}
	return until
}

// readNewest reads from the newest record to the first page that is old enough and holds nothing unknown; in a sweep,
// or if there is no such page, to the end of the lookback.
func (p *Poller) readNewest(ctx context.Context, r *reading) error {
	var until time.Time // in a sweep nothing is old enough
	first, sweep := true, !r.begin.Before(p.sweep)
	for page, err := range p.cfg.API.Attacks(ctx, apiclient.AttackFilter{From: r.from}) {
		if err != nil {
			return err
		}
		if first && !page.ServerTime.IsZero() {
			r.at = page.ServerTime
		}
		if first && !sweep {
			until = p.readUntil(r.at)
		}
		changed := p.take(r, page.Attacks)
		if first && p.floods(page.Attacks) {
			if err := p.readIncidents(ctx, r); err != nil {
				return err
			}
		}
		if first && changed {
			if err := p.tellFirst(ctx, *r); err != nil {
				return err
			}
		}
		first = false
		for _, a := range page.Attacks {
			if !a.Last.IsZero() && (r.reached.IsZero() || a.Last.Before(r.reached)) {
				r.reached = a.Last
			}
		}
		switch {
		case !r.reached.IsZero() && r.reached.Before(r.from): // by a service that doesn't heed the filter
			r.ended = true
			return nil
		case !changed && !r.reached.IsZero() && r.reached.Before(until):
			return nil
		}
	}
	r.ended = true
	return nil
}

// take keeps a page's records and reports whether one of them is unknown or has changed. Records come twice when the
// list shifts while it is read. One that is unknown and too old is none of ours: it may have been forgotten already.
func (p *Poller) take(r *reading, page []apiclient.Attack) (changed bool) {
	for _, a := range page {
		was, known := p.latest[a.ID]
		if a.ID == "" || !known && !a.Last.IsZero() && a.Last.Before(r.from) {
			continue
		}
		if known && reflect.DeepEqual(was.attack, a) {
			a = was.attack // the same, but held in memory once
		} else {
			changed, p.uncounted, r.changed = true, true, append(r.changed, a.ID)
			p.noteChange(a.ID, was)
		}
		r.attacks[a.ID] = a
		p.heed(a)
	}
	return changed
}
