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

// MarkStale marks an attack's card stale, so that it is redrawn.
func (s *Cards) MarkStale(ctx context.Context, account, attack string, urgency record.Urgency) error {
	var b batch
	b.stale(account, attack, urgency)
	if _, _, err := s.transact(ctx, condition{}, &b); err != nil {
		return fmt.Errorf("mark card of %s: %w", attack, err)
	}
	return nil
}

// stale marks an attack's card stale.
func (b *batch) stale(account, attack string, urgency record.Urgency) {
	b.do("STALE", keyRedraw(account), attack, int(urgency), strconv.FormatUint(rand.Uint64(), 36))
}

// Stale are the marks of the attacks whose cards are stale. Redrawn takes them back.
func (s *Cards) Stale(ctx context.Context, account string) (map[string]record.RedrawMark, error) {
	texts, err := s.rdb.HGetAll(ctx, keyRedraw(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read stale cards of %s: %w", account, err)
	}
	all := make(map[string]record.RedrawMark, len(texts))
	for attack, text := range texts {
		all[attack] = readMark(text)
	}
	return all, nil
}

// newMark is a mark of now, by this machine's clock.
func newMark(urgency record.Urgency) string {
	return fmt.Sprint(int(urgency), " ", time.Now().UnixMilli(), " ", strconv.FormatUint(rand.Uint64(), 36))
}

// readMark reads a mark. One in another form has only its ID.
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

// redrawn deletes a mark unless the card became stale again meanwhile.
// KEYS[1] the redraw queue; ARGV[1] the attack, ARGV[2] the mark that was drawn. Result: 1 if it was deleted, else 0.
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
