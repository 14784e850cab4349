package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

// Outdated marks an attack's card to be drawn again.
func (s *Cards) MarkStale(ctx context.Context, account, attack string, urgency record.Urgency) error {
	var b batch
	b.stale(account, attack, urgency)
	if _, _, err := s.transact(ctx, condition{}, &b); err != nil {
		return fmt.Errorf("mark card of %s: %w", attack, err)
	}
	return nil
}

// outdated marks an attack's card.
func (b *batch) stale(account, attack string, urgency record.Urgency) {
	b.do("OUTDATE", keyRedraw(account), attack, int(urgency), strconv.FormatUint(rand.Uint64(), 36))
}

// ToRedraw are the marks of the attacks whose cards are outdated, to be given back to Redrawn.
func (s *Cards) Stale(ctx context.Context, account string) (map[string]record.RedrawMark, error) {
	texts, err := s.rdb.HGetAll(ctx, keyRedraw(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read outdated cards of %s: %w", account, err)
	}
	all := make(map[string]record.RedrawMark, len(texts))
	for attack, text := range texts {
		all[attack] = readMark(text)
	}
	return all, nil
}

// newMark is a mark of now.
func newMark(urgency record.Urgency) string {
	return fmt.Sprint(int(urgency), " ", time.Now().UnixMilli(), " ", strconv.FormatUint(rand.Uint64(), 36))
}

// readMark reads a mark. One of an earlier version is a number, and says nothing but itself.
func readMark(text string) record.RedrawMark {
	m := record.RedrawMark{ID: text}
	urgency, rest, _ := strings.Cut(text, " ")
	since, _, ok := strings.Cut(rest, " ")
	rank, err := strconv.Atoi(urgency)
	ms, sinceErr := strconv.ParseInt(since, 10, 64)
	if ok && err == nil && sinceErr == nil {
		m.Urgency, m.Since = record.Urgency(rank), time.UnixMilli(ms).UTC()
	}
	return m
}

// redrawn takes a mark away unless the card became outdated again meanwhile.
// KEYS[1] the marks; ARGV[1] the attack, ARGV[2] the mark that was drawn. Result: 1 if it was taken away, else 0.
var redrawn = redis.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])`)

// Redrawn records that a card was drawn from facts read after the mark was.
func (s *Cards) Redrawn(ctx context.Context, account, attack string, mark record.RedrawMark) error {
	if err := redrawn.Run(ctx, s.rdb, []string{keyRedraw(account)}, attack, mark.ID).Err(); err != nil {
		return fmt.Errorf("record card of %s: %w", attack, err)
	}
	return nil
}
