package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// blind is the spell of not watching that was told and has not ended; zero when there is none.
func (s *Store) blind(ctx context.Context, account string) (spell poller.Spell, err error) {
	text, err := s.rdb.Get(ctx, keyBlind(account)).Bytes()
	if errors.Is(err, redis.Nil) {
		return spell, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &spell)
	}
	if err != nil {
		return poller.Spell{}, fmt.Errorf("load blind spell of %s: %w", account, err)
	}
	return spell, nil
}

// setBlind adds what becomes of the spell to a transaction; nil leaves it as it is, a zero one ends it.
func setBlind(ctx context.Context, p redis.Pipeliner, account string, spell *poller.Spell) error {
	switch {
	case spell == nil:
		return nil
	case spell.Since.IsZero():
		return p.Del(ctx, keyBlind(account)).Err()
	}
	text, err := json.Marshal(spell)
	if err != nil {
		return fmt.Errorf("write blind spell of %s: %w", account, err)
	}
	return p.Set(ctx, keyBlind(account), text, 0).Err()
}

// Tied is the account's last spell of refused changes; zero when there was none.
func (s *Store) Tied(ctx context.Context, account string) (t commands.Tied, err error) {
	text, err := s.rdb.Get(ctx, keyTied(account)).Bytes()
	if errors.Is(err, redis.Nil) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return commands.Tied{}, fmt.Errorf("read refused changes of %s: %w", account, err)
	}
	return t, nil
}

// SaveTied writes a spell of refused changes down, and the news of it, in one transaction. Who calls it holds the account's lock.
func (s *Store) SaveTied(ctx context.Context, t commands.Tied, n poller.News) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write refused changes of %s: %w", t.Account, err)
	}
	news, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("write news of %s: %w", t.Account, err)
	}
	_, err = s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, keyTied(t.Account), text, 0)
		p.HSet(ctx, keyOutbox(t.Account), n.ID, news)
		return nil
	})
	if err != nil {
		return fmt.Errorf("save refused changes of %s: %w", t.Account, err)
	}
	return nil
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
