package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// decode reads a text that a key holds, in that field or as that member, if it has any, as JSON. What can't be read is
// set aside, and counts as not there.
func decode[T any](s *client, text string, key string, field string) (v T, ok bool) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		s.setAside(context.Background(), []string{key}, field, text)
		return *new(T), false
	}
	return v, true
}

// asked are the key and the field that a command asked for.
func asked(answer redis.Cmder) (key, field string) {
	args := append(answer.Args(), "", "", "")
	key, _ = args[1].(string)
	field, _ = args[2].(string)
	return key, field
}

// value is what an answer holds as JSON; zero when there is nothing. what names it in errors.
func value[T any](s *client, answer *redis.StringCmd, what string) (v T, err error) {
	text, err := answer.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return v, nil
	case err != nil:
		return v, fmt.Errorf("read %s: %w", what, err)
	}
	key, field := asked(answer)
	v, _ = decode[T](s, text, key, field)
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
func values[T any](s *client, answer *redis.MapStringStringCmd, what string) (map[string]T, error) {
	texts, err := answer.Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	key, _ := asked(answer)
	all := make(map[string]T, len(texts))
	for field, text := range texts {
		if v, ok := decode[T](s, text, key, field); ok {
			all[field] = v
		}
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

// newest are the values of an account's hash, the newest first. Those that are old are left out, and deleted from the
// hashes. unread are the fields that can't be read.
func newest[T any](ctx context.Context, s *client, answer *redis.MapStringStringCmd, what string, of func(*T) dated, hashes ...string) (sorted []T, unread []string, err error) {
	all, err := values[T](s, answer, what)
	if err != nil {
		return nil, nil, err
	}
	for field := range answer.Val() {
		if _, ok := all[field]; !ok {
			unread = append(unread, field)
		}
	}
	var old []string
	dates := make([]dated, 0, len(all))
	read := make([]T, 0, len(all))
	for field, v := range all {
		switch d := of(&v); {
		case d.id != field: // it is JSON, and something else
			s.setAside(ctx, hashes[len(hashes)-1:], field, answer.Val()[field])
			unread = append(unread, field)
		case d.old:
			old = append(old, d.id)
		default:
			d.index = len(read)
			dates, read = append(dates, d), append(read, v)
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
			return nil, nil, fmt.Errorf("delete old %s: %w", what, err)
		}
	}
	slices.SortFunc(dates, func(a, b dated) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id)) })
	sorted = make([]T, len(dates))
	for i, d := range dates {
		sorted[i] = read[d.index]
	}
	return sorted, unread, nil
}

// questions are asked in one round trip.
type questions struct {
	*client

	redis redis.Pipeliner // not embedded: its hundreds of methods would be compiled again

	read []func() error // the answers
}

func (s *client) questions() *questions {
	return &questions{redis: s.rdb.Pipeline(), client: s}
}

// ask has an answer's JSON be read when it is there.
func ask[T any](q *questions, answer *redis.StringCmd, into *T, what string) {
	q.read = append(q.read, func() (err error) {
		*into, err = value[T](q.client, answer, what)
		return err
	})
}

// askTime has an answer's Unix ms be read when it is there.
func (q *questions) askTime(answer *redis.StringCmd, into *time.Time, what string) {
	q.read = append(q.read, func() error {
		text, err := word(answer, what)
		if text == "" {
			return err
		}
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil { // else it would look as if there never was one
			key, field := asked(answer)
			q.setAside(context.Background(), []string{key}, field, text)
			return fmt.Errorf("read %s: %w", what, ErrDamaged)
		}
		*into = time.UnixMilli(ms).UTC()
		return nil
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
