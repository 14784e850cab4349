package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/internal/record"
)

// decidedFor is how long a decided request can still be read; the audit log keeps it longer.
const decidedFor = 7 * 24 * time.Hour

// SaveRequest stores an approval request, new or again, with the time at which it is due, its event, and an audit entry if there is one, whose
// number it returns: all in one step. It fails with refusal.ErrLost when the lock is lost.
func (l *Lock) SaveRequest(ctx context.Context, entry *record.AuditEntry, q record.ApprovalRequest, events ...record.Event) (n int64, err error) {
	var b batch
	if err := b.json("HSET", keyApprovals(l.account), q.ID, q); err != nil {
		return 0, err
	}
	if due := approval.DueAt(q); due.IsZero() {
		b.do("ZREM", keyApprovalsDue(l.account), q.ID)
	} else {
		b.do("ZADD", keyApprovalsDue(l.account), due.Unix(), q.ID)
	}
	if err := b.announce(events...); err != nil {
		return 0, err
	}
	if entry != nil {
		if err := b.audit(*entry, l.store.auditKeep); err != nil {
			return 0, err
		}
	}
	return l.write(ctx, &b, "save request "+q.ID)
}

// Requests are the account's approval requests, the newest first: all that wait and those decided lately.
func (s *Approvals) Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error) {
	all, old, err := listed(s.rdb.HVals(ctx, keyApprovals(account)), account, "request", func(q record.ApprovalRequest) (string, bool) {
		return q.ID, approval.DueAt(q).IsZero() && time.Since(q.Until) > decidedFor
	})
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		for _, key := range []string{keyApprovals(account), keyApprovalsAt(account)} {
			if err := s.rdb.HDel(ctx, key, old...).Err(); err != nil {
				return nil, fmt.Errorf("delete old requests of %s: %w", account, err)
			}
		}
	}
	slices.SortFunc(all, func(a, b record.ApprovalRequest) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// MessageAt is where a request's card is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
func (s *Approvals) MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error) {
	text, err := s.rdb.HGet(ctx, keyApprovalsAt(account), id).Result()
	if errors.Is(err, redis.Nil) {
		return "", "", 0, nil
	}
	if err == nil {
		_, err = fmt.Sscan(text, &revision, &channel, &ts)
	}
	if err != nil {
		return "", "", 0, fmt.Errorf("find card of request %s: %w", id, err)
	}
	return channel, ts, revision, nil
}

// SaveMessageAt stores where a request's card is, and the revision that it shows.
func (s *Approvals) SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error {
	if err := s.rdb.HSet(ctx, keyApprovalsAt(account), id, fmt.Sprintf("%d %s %s", revision, channel, ts)).Err(); err != nil {
		return fmt.Errorf("save place of request %s: %w", id, err)
	}
	return nil
}
