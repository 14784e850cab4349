package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Case is what was said about an attack; the zero Case when nothing was.
func (s *Store) Case(ctx context.Context, account, attack string) (record.Triage, error) {
	return value[record.Triage](s.rdb.HGet(ctx, keyCases(account), attack), "read case of "+attack)
}

// value is what an answer holds as JSON; zero when there is nothing.
func value[T any](answer *redis.StringCmd, doing string) (v T, err error) {
	var none T
	text, err := answer.Bytes()
	if errors.Is(err, redis.Nil) {
		return none, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", doing, err)
	}
	return v, nil
}

// values are what the hash of an account's cases, or pages, holds as JSON, by attack; one names what one of them is.
func values[T any](answer *redis.MapStringStringCmd, account, one string) (map[string]T, error) {
	texts, err := answer.Result()
	if err != nil {
		return nil, fmt.Errorf("read %ss of %s: %w", one, account, err)
	}
	all := make(map[string]T, len(texts))
	for attack, text := range texts {
		var v T
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", one, attack, err)
		}
		all[attack] = v
	}
	return all, nil
}

// listed are a hash's values, which it holds as JSON, without those that are too old, whose ids it gives; one names what one of them is.
func listed[T any](answer *redis.StringSliceCmd, account, one string, tooOld func(T) (id string, is bool)) (all []T, old []string, err error) {
	texts, err := answer.Result()
	if err != nil {
		return nil, nil, fmt.Errorf("read %ss of %s: %w", one, account, err)
	}
	for _, text := range texts {
		var v T
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, nil, fmt.Errorf("read %s of %s: %w", one, account, err)
		}
		if id, is := tooOld(v); is {
			old = append(old, id)
			continue
		}
		all = append(all, v)
	}
	return all, old, nil
}

// Cases are all of an account, by attack.
func (s *Store) Cases(ctx context.Context, account string) (map[string]record.Triage, error) {
	return values[record.Triage](s.rdb.HGetAll(ctx, keyCases(account)), account, "case")
}

// SaveTriage keeps what people did about attacks, by their ids, until the attacks are forgotten, marks their cards as stale, and puts events
// into the outbox, all in one step.
func (l *Lock) SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error {
	var b batch
	for attack, triage := range all {
		if err := b.json("HSET", keyCases(l.account), attack, triage); err != nil {
			return err
		}
		b.outdated(l.account, attack, record.UrgentActed)
	}
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err := l.write(ctx, &b, "save triage of "+l.account)
	return err
}

// Mutes are an account's; some may be over.
func (s *Store) Mutes(ctx context.Context, account string) ([]record.Mute, error) {
	return value[[]record.Mute](s.rdb.Get(ctx, keyMutes(account)), "read mutes of "+account)
}

// SaveMutes puts these in the place of all of the account's, until the last of them is over, and has the cards of attacks be drawn again.
func (l *Lock) SaveMutes(ctx context.Context, all []record.Mute, attacks ...string) error {
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write mutes of %s: %w", l.account, err)
	}
	var b batch
	if len(all) == 0 {
		b.do("DEL", keyMutes(l.account))
	} else {
		last := slices.MaxFunc(all, func(a, b record.Mute) int { return a.Until.Compare(b.Until) }).Until
		b.do("SET", keyMutes(l.account), text, "EXAT", last.Add(time.Second).Unix()) // Redis counts whole seconds
	}
	for _, attack := range attacks {
		b.outdated(l.account, attack, record.UrgentActed)
	}
	_, err = l.write(ctx, &b, "save mutes of "+l.account)
	return err
}
