package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// decidedFor is how long a decided request can still be read; the audit log keeps it longer.
const decidedFor = 7 * 24 * time.Hour

// SaveRequest stores an approval request, new or again, with the time at which it is due, its event, and an audit entry
// if there is one, whose number it returns: all in one step.
func (d *Draft) SaveRequest(ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event) (n int64, err error) {
	b := d.batch()
	b.do("HSET", keyApprovals, q.ID, b.json(q))
	b.due(keyApprovalsDue, q.ID, q.CheckAt)
	b.announce(events)
	b.audit(entry)
	err = d.save(ctx, b)
	return b.audited, err
}

// Requests are the account's approval requests, the newest first: all that wait and those decided lately.
func (s *Approvals) Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error) {
	now := s.clocks.ServiceNow(account)
	of := func(q *record.ApprovalRequest) (string, time.Time, bool) {
		return q.ID, q.At, q.CheckAt.IsZero() && now.Sub(q.Until) > decidedFor
	}
	key := s.key(keyApprovals, account)
	all, _, err := newest(ctx, s.client, s.rdb.HGetAll(ctx, key), of, s.key(keyApprovalsAt, account), key)
	return all, err
}

// MessageAt is where a request's card is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
func (s *Approvals) MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error) {
	answer := s.rdb.HGet(ctx, s.key(keyApprovalsAt, account), id)
	text, err := word(answer)
	return s.readShown(answer, text, err)
}

// SaveMessageAt stores where a request's card is, and the revision that it shows.
func (s *Approvals) SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error {
	place := fmt.Sprintf("%d %s %s", revision, channel, ts)
	return wrap(s.rdb.HSet(ctx, s.key(keyApprovalsAt, account), id, place).Err(), "save place of request %s", id)
}

// readShown reads REVISION CHANNEL TS, which an answer ends with.
func (s *client) readShown(answer *redis.StringCmd, text string, before error) (channel, ts string, revision int, err error) {
	if text == "" || before != nil {
		return "", "", 0, before
	}
	if n, _ := fmt.Sscan(text, &revision, &channel, &ts); n < 3 {
		key, field := asked(answer)
		s.setAside(context.Background(), []string{key}, field, answer.Val())
		return "", "", 0, nil
	}
	return channel, ts, revision, nil
}

// PermissionLoss is the account's last loss of permission; zero when there was none.
func (s *Permissions) PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error) {
	return stored[record.PermissionLoss](ctx, s.client, keyPermission, account)
}

// SavePermissionLoss stores a loss of permission, and its event, in one step.
func (d *Draft) SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error {
	b := d.batch()
	b.do("SET", keyPermission, b.json(t))
	b.announce(events)
	return d.save(ctx, b)
}

// MessageAt is where the notice with that id is, and the revision that it shows; ts is "" if it isn't known to be
// anywhere.
func (s *Permissions) MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error) {
	answer := s.rdb.Get(ctx, s.key(keyPermissionAt, account))
	text, err := word(answer)
	text, ok := strings.CutPrefix(text, id+" ")
	if !ok { // it is that of an earlier loss
		return "", "", 0, err
	}
	return s.readShown(answer, text, err)
}

// SaveMessageAt stores where a notice is, and the revision that it shows.
func (s *Permissions) SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error {
	place := fmt.Sprintf("%s %d %s %s", id, revision, channel, ts)
	return wrap(s.rdb.Set(ctx, s.key(keyPermissionAt, account), place, 0).Err(), "save place of notice of %s", account)
}
