package store

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Draft writes only if nobody wrote since its facts were read. One goroutine uses it.
type Draft struct {
	*client

	account  string
	epoch    string
	revision string
}

// Save writes in one step, and returns the number of the audit entry if there is one. It fails with ErrChanged where
// somebody else wrote since. If Redis' memory is full it fails: what can't be written down isn't begun.
func (d *Draft) Save(ctx context.Context, s record.Saves) (n int64, err error) {
	b := d.batch(d.account)
	b.saves(ctx, s)
	if len(b.words) == 0 {
		return 0, nil
	}
	if s.Mutes != nil {
		defer d.expireMutes(d.account)
	}
	err = d.save(ctx, b)
	return b.audited, err
}

// save carries a batch out if nobody wrote since.
func (d *Draft) save(ctx context.Context, b *batch) error {
	b.needed = false
	next := rand.Text()
	b.do("SET", keyRevision, next)
	b.unmet = ErrChanged
	b.only(b.key(keyEpoch, d.account), d.epoch)
	b.only(b.key(keyRevision, d.account), d.revision)
	err := b.save(ctx)
	if err == nil {
		d.revision = next
	}
	return err
}

// How long a drill can be acknowledged, which is shorter than the outbox knows where the cards are; and how long the
// service's rules count as locked, unless a change shows otherwise.
const (
	drillFor  = 30 * time.Minute
	lockedFor = 5 * time.Minute
)

// saves adds all that is to be saved.
func (b *batch) saves(ctx context.Context, s record.Saves) {
	for _, c := range s.Changes {
		b.do("HSET", keyChanges, c.ID, b.json(c))
		b.due(keyDue, c.ID, c.CheckAt)
		b.stale(ctx, record.UrgentActed, c.AttackID)
	}
	for _, decision := range s.Due {
		c := decision.Change
		b.due(keyDue, c.ID, decision.Next)
		if decision.Asks || decision.Late || decision.Listed || decision.Seen {
			b.do("HSET", keyChanges, c.ID, b.json(c))
		}
		if decision.Ended {
			b.stale(ctx, record.UrgentActed, c.AttackID)
		}
	}
	if s.Request != nil {
		b.do("HSET", keyApprovals, s.Request.ID, b.json(s.Request))
		b.due(keyApprovalsDue, s.Request.ID, s.Request.CheckAt)
	}
	for attack, triage := range s.Triage {
		b.do("HSET", keyTriage, attack, b.json(triage))
		b.stale(ctx, record.UrgentActed, attack)
	}
	b.settings(s)
	b.stale(ctx, record.UrgentActed, s.Stale...)
	b.announce(s.Events)
	b.audit(s.Entry)
}

// settings adds what is one value of the account.
func (b *batch) settings(s record.Saves) {
	if s.Loss != nil {
		b.do("SET", keyPermission, b.json(s.Loss))
	}
	if s.Drill != nil {
		b.do("SET", keyDrill, b.json(s.Drill), "PX", drillFor.Milliseconds())
	}
	if s.Mutes != nil && len(*s.Mutes) == 0 {
		b.do("DEL", keyMutes)
	} else if s.Mutes != nil {
		last := slices.MaxFunc(*s.Mutes, func(a, b record.Mute) int { return a.Until.Compare(b.Until) }).Until
		left := last.Sub(b.clocks.ServiceNow(b.account)) + time.Second
		b.do("SET", keyMutes, b.json(s.Mutes), "PX", max(left, time.Second).Milliseconds())
	}
	if s.Protected != nil {
		b.do("SET", keyProtected, b.json(s.Protected))
		b.do("HDEL", keyDamaged, b.key(keyProtected, b.account))
	}
	if s.Locked != nil && s.Locked.IsZero() {
		b.do("DEL", keyLocked)
	} else if s.Locked != nil {
		b.do("SET", keyLocked, b.json(s.Locked), "PX", lockedFor.Milliseconds())
	}
}

// due sets when something is to be checked; zero: never.
func (b *batch) due(pattern, id string, at time.Time) {
	if at.IsZero() {
		b.do("ZREM", pattern, id)
	} else {
		b.do("ZADD", pattern, at.Unix(), id)
	}
}
