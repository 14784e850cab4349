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
	// evidenceFor is how long evidence of an attack is stored after it changed last, and how long monitoring gaps are.
	evidenceFor = 30 * 24 * time.Hour
	// maxGaps is how many monitoring gaps are stored of an account.
	maxGaps = 300
)

// evidence stores what an update has of an attack, if it has anything.
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

// gap stores a monitoring gap. The same again is one.
func (b *batch) gap(account string, a *record.Outage) error {
	if a == nil {
		return nil
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write monitoring gap: %w", err)
	}
	key := keyGaps(account)
	b.do("ZADD", key, a.Until.UnixMilli(), text)
	b.do("ZREMRANGEBYSCORE", key, "-inf", a.Until.Add(-evidenceFor).UnixMilli())
	b.do("ZREMRANGEBYRANK", key, 0, -maxGaps-1)
	b.do("PEXPIRE", key, evidenceFor.Milliseconds())
	return nil
}

// LoadEvidence reads the evidence of attacks, by the service's ids; what isn't stored is left out.
func (s *Attacks) LoadEvidence(ctx context.Context, account string, attackids []string) (map[string]record.Evidence, error) {
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

// Evidence is what an attack looked like; ok tells whether anything is stored.
func (s *Attacks) Evidence(ctx context.Context, account, attack string) (e record.Evidence, ok bool, err error) {
	e, err = value[record.Evidence](s.rdb.Get(ctx, keyEvidence(account, attack)), "read evidence of "+attack)
	if err != nil || e.First.At.IsZero() {
		return record.Evidence{}, false, err
	}
	return e, true, nil
}

// LastObservation is an attack as the poller last decided about it; ok tells whether that is known.
func (s *Attacks) LastObservation(ctx context.Context, account, attack string) (seen record.Observation, ok bool, err error) {
	shown, ok, err := s.AttackState(ctx, account, attack)
	if err != nil || !ok || shown.Rebuilt {
		return record.Observation{}, false, err
	}
	return record.Observation{At: shown.ObservedAt, Attack: shown.Attack.Brief()}, true, nil
}

// Outages are the monitoring gaps of an account since then, of the last 30 days, the oldest first, and last the outage that goes on, which has no
// end. Gaps shorter than two minutes can't be distinguished from a restart and are none.
func (s *Attacks) Outages(ctx context.Context, account string, since time.Time) ([]record.Outage, error) {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	texts, err := s.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{Key: keyGaps(account), ByScore: true, Start: from, Stop: "+inf"}).Result()
	if err != nil {
		return nil, fmt.Errorf("read outages of %s: %w", account, err)
	}
	var all []record.Outage
	for _, text := range texts {
		var a record.Outage
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return nil, fmt.Errorf("read outage of %s: %w", account, err)
		}
		all = append(all, a)
	}
	now, err := s.outage(ctx, account)
	if err != nil {
		return nil, err
	}
	if !now.From.IsZero() {
		all = append(all, now)
	}
	return all, nil
}
