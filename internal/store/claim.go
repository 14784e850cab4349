package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
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
func (s *Ledger) Resume(ctx context.Context, ch record.Change, unread bool) (held context.Context, c *Claim,
	err error) {
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
func (s *client) claimed(ctx context.Context, account string, l *lease, until time.Time,
	open map[string]bool) (context.Context, *Claim, error) {
	held := l.begin(ctx, until)
	return held, &Claim{s, account, l, s.renewing(held, l), open}, nil
}

// Save writes as Draft.Save does, while the claim is held; it fails with ErrLost when it is not. With the last outcome
// of its changes the claim ends. A full Redis takes them all the same: what was claimed may have been sent.
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
