package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// outage is the outage that people were notified of and that goes on; zero when there is none.
func (s *client) outage(ctx context.Context, account string) (record.Outage, error) {
	return value[record.Outage](s.rdb.Get(ctx, keyOutage(account)), "load outage of "+account)
}

// outage adds what becomes of an outage; nil leaves it as it is, a zero one ends it.
func (b *batch) outage(account string, o *record.Outage) error {
	switch {
	case o == nil:
		return nil
	case o.From.IsZero():
		b.do("DEL", keyOutage(account))
		return nil
	}
	text, err := json.Marshal(o)
	b.do("SET", keyOutage(account), text)
	return err
}

// LastPoll is when the last complete poll of an account began, on the service's clock, and the outage that people were notified of and that goes
// on; both zero when there is none.
func (s *Attacks) LastPoll(ctx context.Context, account string) (lastGood time.Time, blind record.Outage, err error) {
	if lastGood, err = good(s.rdb.Get(ctx, keyLastGood(account)), account); err != nil {
		return lastGood, blind, err
	}
	blind, err = s.outage(ctx, account)
	return lastGood, blind, err
}

// good is the last good poll; zero: there was none.
func good(asked *redis.StringCmd, account string) (time.Time, error) {
	ms, err := asked.Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("load last poll of %s: %w", account, err)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// Load reads an account's attacks for its poller.
func (s *Attacks) Load(ctx context.Context, account string) (r poller.State, err error) {
	if r.LastGood, r.Outage, err = s.LastPoll(ctx, account); err != nil {
		return poller.State{}, err
	}
	if r.FirstStart, err = s.firstStart(ctx, account); err != nil {
		return poller.State{}, err
	}
	texts, err := s.rdb.HGetAll(ctx, keyAttacks(account)).Result()
	if err != nil {
		return poller.State{}, fmt.Errorf("load attacks of %s: %w", account, err)
	}
	r.Attacks = make(map[string]record.AttackState, len(texts))
	for id, text := range texts {
		var one record.AttackState
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return poller.State{}, fmt.Errorf("load attack %s: %w", id, err)
		}
		r.Attacks[one.Attack.ID] = one
	}
	return r, nil
}

// atOnce is how many commands a step of Save has at most: meanwhile Redis does nothing else, and leases wait to be renewed.
const atOnce = 500

// Save stores what a poll found, with its events. That is one step, but for very many attacks: each of these is stored with its events in one step,
// and the last step stores that the poll is complete. It fails when this replica doesn't own the account any more.
func (s *Attacks) Save(ctx context.Context, account string, u poller.Update) error {
	under, err := s.ownerLease(account)
	if err != nil {
		return fmt.Errorf("save poll of %s: %w", account, err)
	}
	eventsOf := map[string][]record.Event{} // by attack
	for _, n := range u.Events {
		eventsOf[n.Attack().ID] = append(eventsOf[n.Attack().ID], n)
	}
	var b batch
	for _, attackid := range u.AttackIDs() {
		var err error
		if shown, changed := u.Attacks[attackid]; changed {
			err = b.json("HSET", keyAttacks(account), record.AttackID(account, attackid), shown)
			b.cardGiven(account, shown)
		}
		err = errors.Join(err, b.evidence(account, attackid, u), b.announce(eventsOf[attackid]...))
		if delete(eventsOf, attackid); err == nil && b.commands >= atOnce {
			_, err = s.fenced(ctx, under, &b)
			b = batch{}
		}
		if err != nil {
			return fmt.Errorf("save poll of %s: %w", account, err)
		}
	}
	for _, attackid := range u.Delete {
		id := record.AttackID(account, attackid)
		for _, key := range []string{keyAttacks(account), keyCards(account), keyTriage(account)} {
			b.do("HDEL", key, id)
		}
	}
	if err := errors.Join(b.outage(account, u.Outage), b.gap(account, u.Gap), b.sources(account, u.Sources), b.announce(slices.Concat(slices.Collect(maps.Values(eventsOf))...)...)); err != nil {
		return err
	}
	for _, attackid := range u.Stale {
		b.stale(account, record.AttackID(account, attackid), record.UrgentState)
	}
	if !u.LastGood.IsZero() {
		b.do("SET", keyLastGood(account), u.LastGood.UnixMilli())
	}
	if _, err := s.fenced(ctx, under, &b); err != nil {
		return fmt.Errorf("save poll of %s: %w", account, err)
	}
	return nil
}

// FindAttacks are the account's stored attacks whose id begins so, by that id.
func (s *Attacks) FindAttacks(ctx context.Context, account, prefix string) (map[string]apiclient.Attack, error) {
	found := map[string]apiclient.Attack{}
	if err := s.scan(ctx, account, literal(prefix)+"*", func(id string, one record.AttackState) { found[id] = one.Attack }); err != nil {
		return nil, err
	}
	return found, nil
}

// literal writes text so that a pattern of Redis matches it as it is.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// AttackState is the state of an attack; ok tells whether it is stored.
func (s *Attacks) AttackState(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error) {
	text, err := s.rdb.HGet(ctx, keyAttacks(account), attack).Bytes()
	if errors.Is(err, redis.Nil) {
		return shown, false, nil
	}
	if err != nil {
		return shown, false, fmt.Errorf("read attack %s: %w", attack, err)
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return shown, false, fmt.Errorf("read attack %s: %w", attack, err)
	}
	return shown, true, nil
}
