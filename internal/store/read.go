package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// value is what an answer holds as JSON; zero when there is nothing. what names it in errors.
func value[T any](answer *redis.StringCmd, what string) (v T, err error) {
	text, err := answer.Bytes()
	if errors.Is(err, redis.Nil) {
		return v, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return *new(T), fmt.Errorf("read %s: %w", what, err)
	}
	return v, nil
}

// word is what an answer holds as text; "" when there is nothing.
func word(answer *redis.StringCmd, what string) (string, error) {
	text, err := answer.Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	return text, nil
}

// values are what a hash holds as JSON, by field.
func values[T any](answer *redis.MapStringStringCmd, what string) (map[string]T, error) {
	texts, err := answer.Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	all := make(map[string]T, len(texts))
	for field, text := range texts {
		var v T
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, fmt.Errorf("read %s: %s: %w", what, field, err)
		}
		all[field] = v
	}
	return all, nil
}

// list is what a list of answers holds as JSON.
func list[T any](answer *redis.StringSliceCmd, what string) ([]T, error) {
	texts, err := answer.Result()
	all := make([]T, len(texts))
	for i, text := range texts {
		err = cmp.Or(err, json.Unmarshal([]byte(text), &all[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return all, nil
}

// dated is what is listed by its time.
type dated struct {
	id  string
	at  time.Time
	old bool // it ended so long ago that it can be deleted

	index int // where it is among what was read
}

// newest are the values of an account's hash, the newest first. Those that are old are left out, and deleted from the hashes.
func newest[T any](ctx context.Context, s *client, answer *redis.StringSliceCmd, what string, of func(*T) dated, hashes ...string) ([]T, error) {
	all, err := list[T](answer, what)
	if err != nil {
		return nil, err
	}
	var old []string
	dates := make([]dated, 0, len(all))
	for i := range all {
		if d := of(&all[i]); d.old {
			old = append(old, d.id)
		} else {
			d.index = i
			dates = append(dates, d)
		}
	}
	if len(old) > 0 {
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, hash := range hashes {
				p.HDel(ctx, hash, old...)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("delete old %s: %w", what, err)
		}
	}
	slices.SortFunc(dates, func(a, b dated) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id)) })
	sorted := make([]T, len(dates))
	for i, d := range dates {
		sorted[i] = all[d.index]
	}
	return sorted, nil
}

// questions are asked in one round trip.
type questions struct {
	redis redis.Pipeliner // not embedded: its hundreds of methods would be compiled again
	keyspace

	read []func() error // the answers
}

func (s *client) questions() *questions {
	return &questions{redis: s.rdb.Pipeline(), keyspace: s.keyspace}
}

// ask has an answer's JSON be read when it is there.
func ask[T any](q *questions, answer *redis.StringCmd, into *T, what string) {
	q.read = append(q.read, func() (err error) {
		*into, err = value[T](answer, what)
		return err
	})
}

// askTime has an answer's Unix ms be read when it is there.
func (q *questions) askTime(answer *redis.StringCmd, into *time.Time, what string) {
	q.read = append(q.read, func() error {
		ms, err := value[int64](answer, what)
		if ms != 0 {
			*into = time.UnixMilli(ms).UTC()
		}
		return err
	})
}

// send asks, and reads the answers.
func (q *questions) send(ctx context.Context, what string) error {
	if _, err := q.redis.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "NOSCRIPT") { // of that the script's reader knows
		return fmt.Errorf("read %s: %w", what, err)
	}
	var faults []error
	for _, read := range q.read {
		faults = append(faults, read())
	}
	return errors.Join(faults...)
}
