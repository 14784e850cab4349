package store

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

const (
	// evidenceFor is how long evidence of an attack is stored after its card, and after the attack is deleted; and how
	// long monitoring gaps are.
	evidenceFor = 30 * 24 * time.Hour
	// maxGaps is how many monitoring gaps are stored of an account.
	maxGaps = 300
)

// Evidence is what an attack looked like; ok reports whether anything is stored.
func (s *Attacks) Evidence(ctx context.Context, account, attack string) (e record.Evidence, ok bool, err error) {
	e, err = value[record.Evidence](s.client, s.rdb.Get(ctx, s.key(keyEvidence, account, attack)))
	return e, !e.First.At.IsZero(), err
}

// LastObservation is an attack as the poller last decided about it; ok reports whether that is known.
func (s *Attacks) LastObservation(ctx context.Context, account, attack string) (seen record.Observation, ok bool,
	err error) {
	shown, _, err := s.AttackState(ctx, account, attack)
	seen = observation(shown)
	return seen, seen.Attack.ID != "", err
}

// observation is what the poller last decided about; zero where that isn't known.
func observation(shown record.AttackState) record.Observation {
	if shown.Rebuilt {
		return record.Observation{}
	}
	return record.Observation{At: shown.ObservedAt, Attack: shown.Attack.Brief()}
}

// Outages are the monitoring gaps of an account since then, of the last 30 days, the oldest first, and last the outage
// that goes on, which has no end. Gaps shorter than two minutes can't be distinguished from a restart and are none.
func (s *Attacks) Outages(ctx context.Context, account string, since time.Time) ([]record.Outage, error) {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	var now record.Outage
	q := s.questions(account)
	gaps := q.redis.ZRangeArgs(ctx, redis.ZRangeArgs{Key: s.key(keyGaps, account), ByScore: true, Start: from,
		Stop: "+inf"})
	ask(q, &now, keyOutage)
	if err := q.send(ctx); err != nil {
		return nil, err
	}
	var all []record.Outage
	for _, text := range gaps.Val() {
		if o, ok := decode[record.Outage](s.client, text, s.key(keyGaps, account), ""); ok {
			all = append(all, o)
		}
	}
	if !now.From.IsZero() {
		all = append(all, now)
	}
	return all, nil
}
