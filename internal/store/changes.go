package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// endedFor is how long an ended change can still be read; the audit log keeps it longer.
const endedFor = 30 * 24 * time.Hour

// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
func (s *Ledger) Changes(ctx context.Context, account string) ([]record.Change, error) {
	return s.changes(ctx, account)
}

func (s *client) changes(ctx context.Context, account string) (all []record.Change, err error) {
	q := s.questions(account)
	q.askChanges(ctx, &all)
	return all, q.send(ctx)
}

// Change is the account's change with that id; zero if it isn't stored.
func (s *Ledger) Change(ctx context.Context, account, id string) (record.Change, error) {
	return stored[record.Change](ctx, s.client, keyChanges, account, id)
}

// askChanges reads an account's changes. Of a damaged one it gives the id, in StateUnreadable.
func (q *questions) askChanges(ctx context.Context, into *[]record.Change) {
	key, now := q.key(keyChanges, q.account), q.clocks.ServiceNow(q.account)
	answer, damaged := q.redis.HGetAll(ctx, key), q.redis.HKeys(ctx, q.key(keyDamaged, q.account))
	q.read = append(q.read, func() (err error) {
		of := func(c *record.Change) (string, time.Time, bool) { return c.ID, c.At, endedLongAgo(*c, now) }
		all, unread, err := newest(ctx, q.client, answer, of, q.key(keyEfficacy, q.account), key)
		for _, name := range damaged.Val() {
			if id, ok := strings.CutPrefix(name, key+" "); ok && record.IndexChange(all, id) < 0 {
				unread = append(unread, id)
			}
		}
		for _, id := range unread {
			all = append(all, record.Change{ID: id, Account: q.account, State: record.StateUnreadable,
				Does: "Something unknown"})
		}
		*into = all
		return err
	})
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
		Key: s.key(keyDue, account), ByScore: true, Start: "-inf", Stop: strconv.FormatInt(now.Unix(), 10), Count: 100,
	}).Result()
	return ids, wrap(err, "read due changes of %s", account)
}

// Efficacy is what was seen of an account's changes, by their ids.
func (s *Ledger) Efficacy(ctx context.Context, account string) (map[string]record.Efficacy, error) {
	return hash[record.Efficacy](ctx, s.client, keyEfficacy, account)
}
