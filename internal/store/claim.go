package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// claimFor is how long a claim lasts without being renewed.
const claimFor = 3 * time.Second

// Begin reads what each change of an account goes by, in one round trip: people wait for it; attack is "" where it is
// about none. What is written as the draft follows from that. It fails with ErrEmptied, unless unread is set,
// as long as what Redis lost wasn't rebuilt.
func (s *Ledger) Begin(ctx context.Context, account, attack string, unread bool) (b record.Basis, d *Draft, err error) {
	q := s.questions(account)
	epoch, revision := q.get(keyEpoch), q.get(keyRevision) // before the rest: what is written meanwhile makes it another
	q.askContext(ctx, &b.Context)
	ask(q, &b.Loss, keyPermission)
	var shown record.AttackState
	if attack != "" {
		ask(q, &b.Triage, keyTriage, attack)
		ask(q, &shown, keyAttacks, attack)
	}
	q.askChanges(ctx, &b.Changes)
	if err := q.send(ctx); err != nil {
		return record.Basis{}, nil, err
	}
	if err = readableEpoch(epoch.Val(), unread); errors.Is(err, ErrDamaged) {
		s.setAside(ctx, []string{s.key(keyEpoch, account)})
		epoch.SetVal("")
		err = readableEpoch("", unread)
	}
	if err != nil {
		return record.Basis{}, nil, err
	}
	b.Attack, b.Known, b.Observed = attack, shown.Attack, observation(shown)
	return b, &Draft{s.client, account, epoch.Val(), revision.Val()}, nil
}

// readableEpoch refuses the state of another version, and, unless unread is set, that there is none.
func readableEpoch(epoch string, unread bool) error {
	version, _, _ := strings.Cut(epoch, " ")
	switch {
	case epoch != "":
		return versionError(version)
	case unread:
		return nil
	}
	return ErrEmptied
}

// Claim is the right to carry changes out that were claimed together.
type Claim struct {
	*client

	account string
	lease   *lease
	stop    func()          // renewing it
	open    map[string]bool // changes of it that have no known outcome yet; nil: which these are isn't known, as it was resumed
}

// Claim stores changes as begun and claims them, all or none. The context ends when the claim is lost.
func (d *Draft) Claim(ctx context.Context, all ...record.Change) (held context.Context, c *Claim, err error) {
	b := d.batch(d.account)
	l := newLease(d.key(keyClaim, d.account, all[0].ClaimedAs()), claimFor)
	b.doAt("SET", l.key, l.token, "PX", claimFor.Milliseconds())
	b.saves(ctx, record.Saves{Changes: all})
	until := time.Now().Add(claimFor) // from before the request is sent, so that it is never later than Redis' own
	if err := d.save(ctx, b); err != nil {
		return nil, nil, err
	}
	open := map[string]bool{}
	for _, ch := range all {
		open[ch.ID] = true
	}
	return d.claimed(ctx, d.account, l, until, open)
}

// Resume claims a change that was begun before, with those that were claimed with it. It fails with ErrClaimed
// while somebody else carries it out, and with ErrEmptied, unless unread is set, as long as what Redis lost
// wasn't rebuilt.
func (s *Ledger) Resume(ctx context.Context, ch record.Change, unread bool) (held context.Context, c *Claim, err error) {
	l := newLease(s.key(keyClaim, ch.Account, ch.ClaimedAs()), claimFor)
	until := time.Now().Add(claimFor)
	take := l.take(s.key(keyEpoch, ch.Account), unread)
	outcome, err := takeLease.Run(ctx, s.rdb, take.keys, take.args...).Text()
	switch {
	case err != nil:
	case outcome == leaseTaken:
		return s.claimed(ctx, ch.Account, l, until, nil)
	case leaseErrors[outcome] != nil:
		err = leaseErrors[outcome]
	default:
		err = ErrClaimed
	}
	return nil, nil, fmt.Errorf("claim change %s: %w", ch.ID, err)
}

// claimed is a claim that was just taken.
func (s *client) claimed(ctx context.Context, account string, l *lease, until time.Time, open map[string]bool) (context.Context, *Claim, error) {
	held := l.begin(ctx, until)
	return held, &Claim{s, account, l, s.renewing(held, l), open}, nil
}

// Save writes as Draft.Save does, while the claim is held; it fails with ErrLost when it is not. With the last outcome of
// its changes the claim ends. A full Redis takes them all the same: what was claimed may have been sent.
func (c *Claim) Save(ctx context.Context, s record.Saves) (n int64, err error) {
	b := c.batch(c.account)
	b.needed = true
	b.saves(ctx, s)
	b.do("SET", keyRevision, rand.Text())
	open := maps.Clone(c.open)
	for _, ch := range s.Changes {
		if ch.State != record.StateBegun {
			delete(open, ch.ID)
		}
	}
	if over(open) {
		b.doAt("DEL", c.lease.key) // within the last renewal's time: nothing is sent any more
	}
	b.onlyHeld(c.lease)
	b.unmet = fmt.Errorf("%w: %w", ErrLost, b.unmet)
	if err = b.save(ctx); err == nil {
		c.open = open
	}
	return b.audited, err
}

// Release gives the claim up. What is left of its changes anybody may resume.
func (c *Claim) Release(ctx context.Context) {
	c.stop()
	if over(c.open) {
		c.lease.end(context.Canceled)
	} else {
		c.drop(ctx, c.lease)
	}
}

// over reports whether all that was claimed is known to have an outcome.
func over(open map[string]bool) bool { return open != nil && len(open) == 0 }

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
