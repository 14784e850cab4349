package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// endedFor is how long an ended change can still be read; the audit log keeps it longer.
const endedFor = 30 * 24 * time.Hour

// SaveChanges stores changes, new or again, with the times at which they are due, marks their attacks' cards stale, announces events, and
// appends an audit entry if there is one, whose number it returns: all in one step. It fails with
// refusal.ErrLost when the lock is lost.
func (l *Lock) SaveChanges(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	var b batch
	for _, c := range all {
		if err := b.json("HSET", keyChanges(l.account), c.ID, c); err != nil {
			return 0, err
		}
		b.due(l.account, c.ID, change.CheckAt(c))
		if c.AttackID != "" {
			b.stale(l.account, c.AttackID, record.UrgentActed)
		}
	}
	if err := b.announce(events...); err != nil {
		return 0, err
	}
	if entry != nil {
		if err := b.audit(*entry, l.store.auditKeep); err != nil {
			return 0, err
		}
	}
	return l.write(ctx, &b, "save changes")
}

// due sets when a change is to be looked at; zero: never.
func (b *batch) due(account, id string, at time.Time) {
	if at.IsZero() {
		b.do("ZREM", keyDue(account), id)
		return
	}
	b.do("ZADD", keyDue(account), at.Unix(), id)
}

// SaveLooks stores what came of looking at changes: when to look again, that people are asked or an end is overdue, which is an event, and that a
// card is stale, all in one step.
func (l *Lock) SaveDue(ctx context.Context, events []record.Event, all ...change.DueDecision) error {
	var b batch
	for _, look := range all {
		c := look.Change
		b.due(l.account, c.ID, look.Next)
		if look.Asks || look.Late {
			if err := b.json("HSET", keyChanges(l.account), c.ID, c); err != nil {
				return err
			}
		}
		if look.Ended && c.AttackID != "" {
			b.stale(l.account, c.AttackID, record.UrgentActed)
		}
	}
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err := l.write(ctx, &b, "save looks")
	return err
}

// write carries a batch out while the lock is held. n is the number of the batch's audit entry, 0 if there is none.
func (l *Lock) write(ctx context.Context, b *batch, what string) (n int64, err error) {
	n, err = l.store.fenced(ctx, l.lease, b)
	switch {
	case errors.Is(err, errLeaseLost):
		return 0, fmt.Errorf("%s: %w: %w", what, refusal.ErrLost, err)
	case err != nil:
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}

// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
func (s *Ledger) Changes(ctx context.Context, account string) ([]record.Change, error) {
	return s.readChanges(ctx, account, s.rdb.HVals(ctx, keyChanges(account)))
}

// readChanges reads the answer to a request for changes, the newest first, and deletes those that ended long ago.
func (s *client) readChanges(ctx context.Context, account string, answer *redis.StringSliceCmd) ([]record.Change, error) {
	all, old, err := listed(answer, account, "change", func(c record.Change) (string, bool) { return c.ID, endedLongAgo(c, time.Now()) })
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.HDel(ctx, keyEfficacy(account), old...)
			p.HDel(ctx, keyChanges(account), old...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("delete old changes of %s: %w", account, err)
		}
	}
	slices.SortFunc(all, func(a, b record.Change) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func endedLongAgo(c record.Change, now time.Time) bool {
	if c.State == record.StateBegun || c.InForce(now) || !c.DueAt().IsZero() {
		return false
	}
	ended := c.Until
	switch c.State {
	case record.StateFailed:
		ended = c.At
	case record.StateUndone:
		ended = c.EndedAt
	}
	return now.Sub(ended) > endedFor
}

// DueChanges are the ids of the account's due changes, at most 100, the one that was due first first.
func (s *Ledger) DueChanges(ctx context.Context, account string, now time.Time) ([]string, error) {
	ids, err := s.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: keyDue(account), ByScore: true, Start: "-inf", Stop: strconv.FormatInt(now.Unix(), 10), Count: 100,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read due changes of %s: %w", account, err)
	}
	return ids, nil
}
