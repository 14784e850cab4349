package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// PermissionLoss is the account's last loss of permission; zero when there was none.
func (s *Permissions) PermissionLoss(ctx context.Context, account string) (record.PermissionLoss, error) {
	return value[record.PermissionLoss](s.rdb.Get(ctx, keyPermission(account)), "read refused changes of "+account)
}

// SavePermissionLoss stores a loss of permission, and its event, in one step.
func (l *Lock) SavePermissionLoss(ctx context.Context, t record.PermissionLoss, events ...record.Event) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write refused changes of %s: %w", l.account, err)
	}
	var b batch
	b.do("SET", keyPermission(l.account), text)
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err = l.write(ctx, &b, "save refused changes of "+l.account)
	return err
}

// MessageAt is where the notice with that id is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
func (s *Permissions) MessageAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error) {
	text, err := s.rdb.Get(ctx, keyPermissionAt(account)).Result()
	if errors.Is(err, redis.Nil) {
		return "", "", 0, nil
	}
	if err != nil {
		return "", "", 0, fmt.Errorf("find notice of %s: %w", account, err)
	}
	var of string
	if _, err := fmt.Sscan(text, &of, &revision, &channel, &ts); err != nil {
		return "", "", 0, fmt.Errorf("find notice of %s: %w", account, err)
	}
	if of != id {
		return "", "", 0, nil
	}
	return channel, ts, revision, nil
}

// SaveMessageAt stores where a notice is, and the revision that it shows.
func (s *Permissions) SaveMessageAt(ctx context.Context, account, id, channel, ts string, revision int) error {
	text := fmt.Sprintf("%s %d %s %s", id, revision, channel, ts)
	if err := s.rdb.Set(ctx, keyPermissionAt(account), text, 0).Err(); err != nil {
		return fmt.Errorf("save place of notice of %s: %w", account, err)
	}
	return nil
}
