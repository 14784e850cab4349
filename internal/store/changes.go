package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// endedFor is how long an ended change can still be read; the audit log keeps it longer.
const endedFor = 30 * 24 * time.Hour

// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
func (s *Ledger) Changes(ctx context.Context, account string) (all []record.Change, err error) {
	q := s.questions(account)
	q.askChanges(ctx, &all)
	err = q.send(ctx)
	return all, err
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

// decidedFor is how long a decided request can still be read; the audit log keeps it longer.
const decidedFor = 7 * 24 * time.Hour

// Requests are the account's approval requests, the newest first: all that wait and those decided lately.
func (s *Ledger) Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error) {
	now := s.clocks.ServiceNow(account)
	of := func(q *record.ApprovalRequest) (string, time.Time, bool) {
		return q.ID, q.At, q.CheckAt.IsZero() && now.Sub(q.Until) > decidedFor
	}
	key := s.key(keyApprovals, account)
	all, _, err := newest(ctx, s.client, s.rdb.HGetAll(ctx, key), of, key)
	return all, err
}

// PermissionLoss is the account's last loss of permission; zero when there was none.
func (s *Ledger) PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error) {
	return stored[record.PermissionLoss](ctx, s.client, keyPermission, account)
}

// messageFor is how long it is stored where a message is that is kept true.
const messageFor = 30 * 24 * time.Hour

// MessageAt is where a message is that is kept true, a request's card or a permission loss's notice, by the id of that,
// and the revision that it shows; zero if it isn't known to be anywhere.
func (s *Ledger) MessageAt(ctx context.Context, account, id string) (at record.Place, revision int, err error) {
	answer := s.rdb.Get(ctx, s.key(keyMessage, account, id))
	text, err := word(answer)
	if n, _ := fmt.Sscan(text, &revision, &at.Channel, &at.TS); n < 3 {
		if text != "" {
			s.setAside(ctx, []string{s.key(keyMessage, account, id)}, "", text)
		}
		return record.Place{}, 0, err
	}
	return at, revision, nil
}

// SaveMessageAt stores where a message is, and the revision that it shows.
func (s *Ledger) SaveMessageAt(ctx context.Context, account, id string, at record.Place, revision int) error {
	place := fmt.Sprint(revision, " ", at.Channel, " ", at.TS)
	return wrap(s.rdb.Set(ctx, s.key(keyMessage, account, id), place, messageFor).Err(), "save place of message %s", id)
}
