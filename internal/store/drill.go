package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// drillFor is how long a drill can be read.
const drillFor = 24 * time.Hour

// The fields of an account's drill. The command writes the first as a draft, the notifier writes the second: neither waits for the other.
const (
	fieldDrill = "drill"
	fieldCard  = "card"
)

// Drill is an account's last drill, with its card; the zero Drill when there was none lately.
func (s *Drills) Drill(ctx context.Context, account string) (d record.Drill, err error) {
	var card record.DrillCard
	q := s.questions()
	ask(q, q.redis.HGet(ctx, s.key(keyDrill, account), fieldDrill), &d, fieldDrill)
	ask(q, q.redis.HGet(ctx, s.key(keyDrill, account), fieldCard), &card, fieldCard)
	if err := q.send(ctx, "drill of "+account); err != nil {
		return record.Drill{}, err
	}
	if card.Drill == d.ID {
		d.Card = card
	}
	return d, nil
}

// SaveDrill replaces the account's last drill.
func (d *draft) SaveDrill(ctx context.Context, drill record.Drill, events ...record.Event) error {
	b := d.store.batch()
	b.drill(d.account, fieldDrill, drill)
	b.announce(events...)
	_, err := d.save(ctx, &b, "drill of "+d.account)
	return err
}

// SaveDrillCard stores what Slack shows of a drill. It fails when this replica doesn't own the account any more.
func (s *Drills) SaveDrillCard(ctx context.Context, account string, card record.DrillCard) error {
	b := s.batch()
	b.drill(account, fieldCard, card)
	return s.saveAsOwner(ctx, account, &b, "card of drill "+card.Drill)
}

// drill stores a field of an account's drill.
func (b *batch) drill(account, field string, value any) {
	b.do("HSET", b.key(keyDrill, account), field, b.json(value))
	b.do("PEXPIRE", b.key(keyDrill, account), drillFor.Milliseconds())
}

// serving counts the replicas that beat, by Redis' own clock.
// KEYS[1] the beats; ARGV[1] after how many ms without a beat a replica is dead. Result: their number.
var serving = redis.NewScript(`
local t = redis.call('TIME')
return redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1], '+inf')`)

// Serving is how many replicas beat.
func (s *Drills) Serving(ctx context.Context) (int, error) {
	n, err := serving.Run(ctx, s.rdb, []string{s.key(keyBeats)}, deadAfter.Milliseconds()).Int()
	if err != nil {
		return 0, fmt.Errorf("count replicas: %w", err)
	}
	return n, nil
}
