package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// blind is the spell of not watching that was told and has not ended; zero when there is none.
func (s *Store) blind(ctx context.Context, account string) (record.Outage, error) {
	return value[record.Outage](s.rdb.Get(ctx, keyBlind(account)), "load blind spell of "+account)
}

// blind adds what becomes of the spell; nil leaves it as it is, a zero one ends it.
func (b *batch) blind(account string, spell *record.Outage) error {
	switch {
	case spell == nil:
		return nil
	case spell.From.IsZero():
		b.do("DEL", keyBlind(account))
		return nil
	}
	text, err := json.Marshal(spell)
	b.do("SET", keyBlind(account), text)
	return err
}

// Tied is the account's last spell of refused changes; zero when there was none.
func (s *Store) Tied(ctx context.Context, account string) (record.PermissionLoss, error) {
	return value[record.PermissionLoss](s.rdb.Get(ctx, keyTied(account)), "read refused changes of "+account)
}

// SaveTied writes a permission loss down, and its events, in one step.
func (l *Lock) SaveTied(ctx context.Context, t record.PermissionLoss, events ...record.Event) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write refused changes of %s: %w", l.account, err)
	}
	var b batch
	b.do("SET", keyTied(l.account), text)
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err = l.write(ctx, &b, "save refused changes of "+l.account)
	return err
}

// NoticeAt is where the notice with that id is, and the revision that it shows; ts is "" if it isn't known to be anywhere.
func (s *Store) NoticeAt(ctx context.Context, account, id string) (channel, ts string, revision int, err error) {
	text, err := s.rdb.Get(ctx, keyTiedAt(account)).Result()
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

// Noticed remembers where a notice is, and the revision that it shows.
func (s *Store) Noticed(ctx context.Context, account, id, channel, ts string, revision int) error {
	text := fmt.Sprintf("%s %d %s %s", id, revision, channel, ts)
	if err := s.rdb.Set(ctx, keyTiedAt(account), text, 0).Err(); err != nil {
		return fmt.Errorf("remember notice of %s: %w", account, err)
	}
	return nil
}
