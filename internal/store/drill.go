package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// drilledFor is how long what came of a drill can be looked at.
const drilledFor = 24 * time.Hour

// The fields of an account's drill. Who was asked writes the first under the account's lock, who shows it the second: neither waits for the other.
const (
	drillField = "drill"
	cardField  = "card"
)

// Drill is an account's last drill, with its card; the zero Drill when there was none lately.
func (s *Store) Drill(ctx context.Context, account string) (d record.Drill, err error) {
	fields, err := s.rdb.HGetAll(ctx, keyDrill(account)).Result()
	if err != nil {
		return d, fmt.Errorf("read drill of %s: %w", account, err)
	}
	var card record.DrillCard
	if text, ok := fields[drillField]; ok {
		err = json.Unmarshal([]byte(text), &d)
	}
	if text, ok := fields[cardField]; ok && err == nil {
		err = json.Unmarshal([]byte(text), &card)
	}
	if err != nil {
		return record.Drill{}, fmt.Errorf("read drill of %s: %w", account, err)
	}
	if card.Drill == d.ID {
		d.Card = card
	}
	return d, nil
}

// SaveDrill writes a drill down in place of the account's last one, and its events, in one step.
func (l *Lock) SaveDrill(ctx context.Context, d record.Drill, events ...record.Event) error {
	var b batch
	if err := b.json("HSET", keyDrill(l.account), drillField, d); err != nil {
		return err
	}
	b.do("PEXPIRE", keyDrill(l.account), drilledFor.Milliseconds())
	if err := b.announce(events...); err != nil {
		return err
	}
	_, err := l.write(ctx, &b, "save drill of "+l.account)
	return err
}

// SaveDrillCard remembers what Slack shows of a drill. It fails when another replica tends the account by now.
func (s *Store) SaveDrillCard(ctx context.Context, account string, card record.DrillCard) error {
	var b batch
	if err := b.json("HSET", keyDrill(account), cardField, card); err != nil {
		return err
	}
	b.do("PEXPIRE", keyDrill(account), drilledFor.Milliseconds())
	return s.tended(ctx, account, &b, "save card of drill "+card.Drill)
}

// serving counts the replicas that beat, by Redis' own clock.
// KEYS[1] the beats; ARGV[1] after how many ms without a beat a replica is dead. Result: their number.
var serving = redis.NewScript(`
local t = redis.call('TIME')
return redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000) - ARGV[1], '+inf')`)

// Serving is how many replicas beat.
func (s *Store) Serving(ctx context.Context) (int, error) {
	n, err := serving.Run(ctx, s.rdb, []string{keyBeats}, deadAfter.Milliseconds()).Int()
	if err != nil {
		return 0, fmt.Errorf("count replicas: %w", err)
	}
	return n, nil
}
