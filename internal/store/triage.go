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

// TriageOf is an attack's triage; zero when there is none.
func (s *Triage) TriageOf(ctx context.Context, account, attack string) (record.Triage, error) {
	return value[record.Triage](s.rdb.HGet(ctx, keyTriage(account), attack), "read triage of "+attack)
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

// values are what a hash of an account holds as JSON, by field; one names one of them in errors.
func values[T any](answer *redis.MapStringStringCmd, account, one string) (map[string]T, error) {
	texts, err := answer.Result()
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", one, account, err)
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

// listed are a hash's values, which it holds as JSON, without those that are too old, whose ids it returns; one names one of them in errors.
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

// AllTriage is the triage of all attacks of an account, by attack.
func (s *Triage) AllTriage(ctx context.Context, account string) (map[string]record.Triage, error) {
	return values[record.Triage](s.rdb.HGetAll(ctx, keyTriage(account)), account, "triage")
}

// SaveTriage stores what people did about attacks, by their ids, until the attacks are deleted, marks their cards stale, and announces events,
// all in one step.
func (l *Lock) SaveTriage(ctx context.Context, all map[string]record.Triage, events ...record.Event) error {
	var b batch
	for attack, triage := range all {
		if err := b.json("HSET", keyTriage(l.account), attack, triage); err != nil {
			return err
		}
		b.stale(l.account, attack, record.UrgentActed)
	}
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err := l.write(ctx, &b, "save triage of "+l.account)
	return err
}

// Mutes are an account's; some may be over.
func (s *Triage) Mutes(ctx context.Context, account string) ([]record.Mute, error) {
	return value[[]record.Mute](s.rdb.Get(ctx, keyMutes(account)), "read mutes of "+account)
}

// SaveMutes replaces all mutes of the account, until the last of them is over, and marks the attacks' cards stale.
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
		b.stale(l.account, attack, record.UrgentActed)
	}
	_, err = l.write(ctx, &b, "save mutes of "+l.account)
	return err
}
