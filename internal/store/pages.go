package store

import (
	"context"
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
)

// Page is an attack's last page; the zero Page when its pager was never called.
func (s *Pages) Page(ctx context.Context, account, attack string) (record.Page, error) {
	return value[record.Page](s.rdb.HGet(ctx, keyPages(account), attack), "read page of "+attack)
}

// Pages are all of an account, by attack: of each the last one.
func (s *Pages) Pages(ctx context.Context, account string) (map[string]record.Page, error) {
	return values[record.Page](s.rdb.HGetAll(ctx, keyPages(account)), account, "page")
}

// SavePage replaces an attack's last page, marks the attack's card stale, and announces events of it, all in one step. It fails when this replica
// doesn't own the account any more: then nothing may be sent.
func (s *Pages) SavePage(ctx context.Context, account string, p record.Page, events ...record.Event) error {
	var b batch
	if err := b.json("HSET", keyPages(account), p.Attack, p); err != nil {
		return err
	}
	b.stale(account, p.Attack, record.UrgentState)
	if err := b.announce(events...); err != nil {
		return err
	}
	return s.whileOwner(ctx, account, &b, "save page of "+p.Attack)
}

// DropPage deletes the page of an attack that is deleted.
func (s *Pages) DropPage(ctx context.Context, account, attack string) error {
	var b batch
	b.do("HDEL", keyPages(account), attack)
	return s.whileOwner(ctx, account, &b, "drop page of "+attack)
}

// whileOwner carries a batch out while this process owns the account.
func (s *client) whileOwner(ctx context.Context, account string, b *batch, what string) error {
	under, err := s.ownerLease(account)
	if err == nil {
		_, err = s.fenced(ctx, under, b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
