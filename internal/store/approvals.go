package store

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

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
