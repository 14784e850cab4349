package poller

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Observed takes in what one good poll found, also one that found nothing: time passes.
type Observed func(ctx context.Context, o PollDelta)

// Observation is what one good poll found of the records that changed since the one before.
type PollDelta struct {
	At      time.Time     // of the poll, on this machine's clock
	Since   time.Time     // of the poll before, likewise; zero: what stood there before isn't known
	Skew    time.Duration // how far the service's clock is ahead of this machine's
	Changes []record.AttackDelta
}

// unobserved is what Observed is yet to be told.
type unobserved struct {
	before map[string]*apiclient.Attack // what records were before they changed, by id; nil: not known
	last   time.Time                    // the last good poll that it was told of, on this machine's clock; zero: none yet
	whole  bool                         // everything there is was read since the start
}

// noteChange keeps what a record was before it changed. What only Memory tells of may have changed long ago.
func (p *Poller) noteChange(id string, was *sighting) {
	if _, noted := p.unobserved.before[id]; noted || p.cfg.Observed == nil {
		return
	}
	if was == nil || was.stored {
		p.unobserved.before[id] = nil
		return
	}
	p.unobserved.before[id] = &was.attack
}

// observe passes on what a good poll found.
func (p *Poller) observe(ctx context.Context, r reading) {
	if p.cfg.Observed == nil {
		return
	}
	u := &p.unobserved
	o := PollDelta{At: r.begin, Since: u.last, Skew: r.at.Sub(r.begin)}
	for id, before := range u.before {
		if now, known := p.latest[id]; known {
			o.Changes = append(o.Changes, record.AttackDelta{Before: before, Now: now.attack})
		}
	}
	clear(u.before)
	if u.whole = u.whole || r.ended; u.whole {
		u.last = r.begin
	}
	p.cfg.Observed(ctx, o)
}
