package poller

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// PollDelta is how records changed between two complete polls.
type PollDelta struct {
	At       time.Time     // of the poll, on this machine's clock
	Since    time.Time     // of the poll before, likewise; zero: the records of before aren't known
	Skew     time.Duration // how far the service's clock is ahead of this machine's
	Changes  []record.AttackDelta
	Settings Settings // what is in force at the service
}

// changeLog is what the observer has yet to learn of.
type changeLog struct {
	before map[string]*apiclient.Attack // what records were before they changed, by id; nil: not known
	last   time.Time                    // the last complete poll that it learned of, on this machine's clock; zero: none yet
	whole  bool                         // all records were read since the start
}

// note keeps what a record was before it changed. One that was not read since the start may have changed long ago.
func (c *changeLog) note(id string, before *seenRecord) {
	switch _, noted := c.before[id]; {
	case noted:
	case before == nil || before.stored:
		c.before[id] = nil
	default:
		c.before[id] = &before.attack
	}
}

// observe gives the observer what complete polls found since the last time.
func (p *Poller) observe(ctx context.Context, snap snapshot) {
	c := &p.st.changes
	d := PollDelta{At: snap.begin, Since: c.last, Skew: snap.at.Sub(snap.begin)}
	for id, before := range c.before {
		if now, known := p.st.records[id]; known {
			d.Changes = append(d.Changes, record.AttackDelta{Before: before, Now: now.attack})
		}
	}
	clear(c.before)
	if c.whole = c.whole || snap.whole; c.whole {
		c.last = snap.begin
	}
	if p.cfg.Observer == nil {
		return
	}
	d.Settings = p.Settings()
	p.cfg.Observer.Observe(ctx, p.cfg.Account, d)
}
