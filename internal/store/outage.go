package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

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
