package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

const (
	// evidenceFor is how long evidence of an attack is kept after it changed last, and how long it is known when nobody watched.
	evidenceFor = 30 * 24 * time.Hour
	// maxAbsences is how many times in which nobody watched are kept of an account.
	maxAbsences = 300
)

// evidence keeps what an update has of an attack, if it has anything.
func (b *batch) evidence(account, attackid string, u poller.Update) error {
	e, ok := u.Evidence[attackid]
	if !ok {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write evidence of %s: %w", attackid, err)
	}
	b.do("SET", keyEvidence(account, record.AttackID(account, attackid)), text, "PX", evidenceFor.Milliseconds())
	return nil
}

// absence keeps a time in which nobody watched. The same again is one.
func (b *batch) absence(account string, a *record.Outage) error {
	if a == nil {
		return nil
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write absence: %w", err)
	}
	key := keyAbsences(account)
	b.do("ZADD", key, a.Until.UnixMilli(), text)
	b.do("ZREMRANGEBYSCORE", key, "-inf", a.Until.Add(-evidenceFor).UnixMilli())
	b.do("ZREMRANGEBYRANK", key, 0, -maxAbsences-1)
	b.do("PEXPIRE", key, evidenceFor.Milliseconds())
	return nil
}

// LoadEvidence reads what is kept of attacks, by the service's ids; what isn't known is left out.
func (s *Store) LoadEvidence(ctx context.Context, account string, attackids []string) (map[string]record.Evidence, error) {
	found := map[string]record.Evidence{}
	for len(attackids) > 0 {
		some := attackids[:min(atOnce, len(attackids))]
		attackids = attackids[len(some):]
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = keyEvidence(account, record.AttackID(account, id))
		}
		texts, err := s.rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("load evidence of %s: %w", account, err)
		}
		for i, text := range texts {
			one, ok := text.(string)
			if !ok {
				continue
			}
			var e record.Evidence
			if err := json.Unmarshal([]byte(one), &e); err != nil {
				return nil, fmt.Errorf("load evidence of %s: %w", some[i], err)
			}
			found[some[i]] = e
		}
	}
	return found, nil
}

// Evidence is what is kept of an attack; ok tells whether anything is.
func (s *Store) Evidence(ctx context.Context, account, attack string) (found record.Evidence, ok bool, err error) {
	e, err := value[record.Evidence](s.rdb.Get(ctx, keyEvidence(account, attack)), "read evidence of "+attack)
	if err != nil || e.First.At.IsZero() {
		return record.Evidence{}, false, err
	}
	found = record.Evidence{First: record.Observation(e.First), Late: e.Late, Dropped: e.Dropped}
	if e.Peak != nil {
		found.Peak = &record.Peak{Observation: record.Observation(e.Peak.Observation), Since: e.Peak.Since, PerMinute: e.Peak.PerMinute}
	}
	for _, t := range e.Course {
		found.Course = append(found.Course, record.Milestone{At: t.At, Kind: t.Kind, Hits: t.Hits, Status: t.Status})
	}
	return found, true, nil
}

// Seen is an attack as the poller last decided about it, and when it read it so; ok tells whether that is known.
func (s *Store) Seen(ctx context.Context, account, attack string) (seen record.Observation, ok bool, err error) {
	shown, ok, err := s.Shown(ctx, account, attack)
	if err != nil || !ok || shown.Recalled {
		return record.Observation{}, false, err
	}
	return record.Observation{At: shown.SeenAt, Attack: shown.Attack.Brief()}, true, nil
}

// Blinds are the spells since then in which nobody watched an account, the oldest first: those of the last 30 days, and last of all the one that
// goes on, which has no end. Shorter ones than two minutes can't be told from a restart and are none.
func (s *Store) Blinds(ctx context.Context, account string, since time.Time) ([]record.Outage, error) {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	texts, err := s.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{Key: keyAbsences(account), ByScore: true, Start: from, Stop: "+inf"}).Result()
	if err != nil {
		return nil, fmt.Errorf("read blind spells of %s: %w", account, err)
	}
	var all []record.Outage
	for _, text := range texts {
		var a record.Outage
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return nil, fmt.Errorf("read blind spell of %s: %w", account, err)
		}
		all = append(all, record.Outage{From: a.From, Until: a.Until, Why: a.Why})
	}
	now, err := s.blind(ctx, account)
	if err != nil {
		return nil, err
	}
	if !now.From.IsZero() {
		all = append(all, record.Outage{From: now.From, Why: now.Why})
	}
	return all, nil
}
