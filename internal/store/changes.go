package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/commands"
)

// endedFor is how long an ended change can still be looked up; the audit log keeps it longer.
const endedFor = 30 * 24 * time.Hour

// SaveChange writes a change down, new or again, with the time at which it is due to be ended.
func (s *Store) SaveChange(ctx context.Context, c commands.Change) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write change %s: %w", c.ID, err)
	}
	_, err = s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, keyChanges(c.Account), c.ID, text)
		if due := c.DueAt(); due.IsZero() {
			p.ZRem(ctx, keyDue(c.Account), c.ID)
		} else {
			p.ZAdd(ctx, keyDue(c.Account), redis.Z{Score: float64(due.Unix()), Member: c.ID})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save change %s: %w", c.ID, err)
	}
	return nil
}

// Changes are the account's changes, the newest first: all that are in force and those that ended lately.
func (s *Store) Changes(ctx context.Context, account string) ([]commands.Change, error) {
	texts, err := s.rdb.HVals(ctx, keyChanges(account)).Result()
	if err != nil {
		return nil, fmt.Errorf("read changes of %s: %w", account, err)
	}
	var all []commands.Change
	var old []string
	for _, text := range texts {
		var c commands.Change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return nil, fmt.Errorf("read change of %s: %w", account, err)
		}
		if endedLongAgo(c, time.Now()) {
			old = append(old, c.ID)
			continue
		}
		all = append(all, c)
	}
	if len(old) > 0 {
		if err := s.rdb.HDel(ctx, keyChanges(account), old...).Err(); err != nil {
			return nil, fmt.Errorf("forget old changes of %s: %w", account, err)
		}
	}
	slices.SortFunc(all, func(a, b commands.Change) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func endedLongAgo(c commands.Change, now time.Time) bool {
	if c.State == commands.StateBegun || c.InForce(now) || !c.DueAt().IsZero() {
		return false
	}
	ended := c.Until
	switch c.State {
	case commands.StateFailed:
		ended = c.At
	case commands.StateUndone:
		ended = c.EndedAt
	}
	return now.Sub(ended) > endedFor
}

// DueChanges are the ids of the account's changes whose end has come.
func (s *Store) DueChanges(ctx context.Context, account string, now time.Time) ([]string, error) {
	ids, err := s.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: keyDue(account), ByScore: true, Start: "-inf", Stop: strconv.FormatInt(now.Unix(), 10), Count: 100,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read due changes of %s: %w", account, err)
	}
	return ids, nil
}
