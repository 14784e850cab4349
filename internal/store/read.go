package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// unread says which command failed with that.
func unread(answer redis.Cmder, err error) error {
	key, field := asked(answer)
	return wrap(err, "read %s", strings.TrimSpace(key+" "+field))
}

// get asks for what a key holds, in that field if it is a hash.
func get(ctx context.Context, rdb redis.Cmdable, key string, field ...string) *redis.StringCmd {
	if len(field) > 0 {
		return rdb.HGet(ctx, key, field[0])
	}
	return rdb.Get(ctx, key)
}

// word is what an answer holds as text; "" when there is nothing.
func word(answer *redis.StringCmd) (string, error) {
	text, err := answer.Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return text, unread(answer, err)
}

// value is what an answer holds as JSON; zero when there is nothing.
func value[T any](s *client, answer *redis.StringCmd) (v T, err error) {
	text, err := word(answer)
	if answer.Err() == nil {
		key, field := asked(answer)
		v, _ = decode[T](s, text, key, field)
	}
	return v, err
}

// stored is what an account's key holds as JSON, in that field if it is a hash; zero when there is nothing.
func stored[T any](ctx context.Context, s *client, pattern, account string, field ...string) (T, error) {
	return value[T](s, get(ctx, s.rdb, s.key(pattern, account), field...))
}

// values are what a hash holds as JSON, by field.
func values[T any](s *client, answer *redis.MapStringStringCmd) (map[string]T, error) {
	key, _ := asked(answer)
	all := make(map[string]T, len(answer.Val()))
	for field, text := range answer.Val() {
		if v, ok := decode[T](s, text, key, field); ok {
			all[field] = v
		}
	}
	return all, unread(answer, answer.Err())
}

// hash is what an account's hash holds as JSON, by field.
func hash[T any](ctx context.Context, s *client, pattern, account string) (map[string]T, error) {
	return values[T](s, s.rdb.HGetAll(ctx, s.key(pattern, account)))
}

// newest are the values of an account's hash, the newest first; of says what each is and when it was made. Old ones are
// left out, and deleted from all hashes; the last of these is the one that was read. unread are fields that can't be
// read.
func newest[T any](
	ctx context.Context, s *client, answer *redis.MapStringStringCmd, of func(*T) (id string, at time.Time, old bool),
	hashes ...string,
) (sorted []T, unread []string, err error) {
	all, err := values[T](s, answer)
	if err != nil {
		return nil, nil, err
	}
	var old []string
	for field, text := range answer.Val() {
		v, ok := all[field]
		id, _, ended := of(&v)
		switch {
		case !ok:
			unread = append(unread, field)
		case id != field: // it is JSON, and something else
			s.setAside(ctx, hashes[len(hashes)-1:], field, text)
			unread = append(unread, field)
		case ended:
			old = append(old, id)
		default:
			sorted = append(sorted, v)
		}
	}
	if len(old) > 0 {
		_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, hash := range hashes {
				p.HDel(ctx, hash, old...)
			}
			return nil
		})
	}
	slices.SortFunc(sorted, func(a, b T) int {
		one, at, _ := of(&a)
		other, before, _ := of(&b)
		return cmp.Or(before.Compare(at), cmp.Compare(one, other))
	})
	return sorted, unread, wrap(err, "delete what is old in %s", hashes)
}

// questions about an account are asked in one round trip.
type questions struct {
	*client

	account string
	redis   redis.Pipeliner // not embedded: its hundreds of methods would be compiled again
	read    []func() error  // the answers
}

func (s *client) questions(account string) *questions {
	return &questions{client: s, account: account, redis: s.rdb.Pipeline()}
}

// get asks for what a key of the account holds, in that field if it is a hash.
func (q *questions) get(pattern string, field ...string) *redis.StringCmd {
	return get(context.Background(), q.redis, q.key(pattern, q.account), field...)
}

// ask asks for the JSON that a key holds, in that field if it is a hash. send reads the answer.
func ask[T any](q *questions, into *T, pattern string, field ...string) {
	answer := q.get(pattern, field...)
	q.read = append(q.read, func() (err error) {
		*into, err = value[T](q.client, answer)
		return err
	})
}

// askAll asks for what a hash holds as JSON, by field. send reads the answer.
func askAll[T any](q *questions, into *map[string]T, pattern string) {
	answer := q.redis.HGetAll(context.Background(), q.key(pattern, q.account))
	q.read = append(q.read, func() (err error) {
		*into, err = values[T](q.client, answer)
		return err
	})
}

// askTime asks for the Unix ms that a key holds. send reads the answer.
func (q *questions) askTime(into *time.Time, pattern string) {
	answer := q.get(pattern)
	q.read = append(q.read, func() error {
		text, err := word(answer)
		if text == "" {
			return err
		}
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil { // else it would look as if there never was one
			key, field := asked(answer)
			q.setAside(context.Background(), []string{key}, field, text)
			return unread(answer, ErrDamaged)
		}
		*into = time.UnixMilli(ms).UTC()
		return nil
	})
}

// send asks, and reads the answers.
func (q *questions) send(ctx context.Context) error {
	if _, err := q.redis.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("read what is stored of %s: %w", q.account, err)
	}
	var faults []error
	for _, read := range q.read {
		faults = append(faults, read())
	}
	return errors.Join(faults...)
}

// call is one run of a script.
type call struct {
	keys []string
	args []any
}

// pipelined runs a script many times in one round trip to each server, within a second. Each server fails alone, which
// the pipelines of a cluster's client don't: in those all fail with the slowest.
func (s *client) pipelined(ctx context.Context, script *redis.Script, calls []call) []*redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cmds := make([]*redis.Cmd, len(calls))
	pipes := map[redis.UniversalClient]redis.Pipeliner{}
	for i, c := range calls {
		server, err := s.server(ctx, c.keys[0])
		if err != nil {
			cmds[i] = failed(ctx, err)
			continue
		}
		if pipes[server] == nil {
			pipes[server] = server.Pipeline()
		}
		cmds[i] = script.EvalSha(ctx, pipes[server], c.keys, c.args...)
	}
	var all sync.WaitGroup
	for _, pipe := range pipes {
		all.Go(func() {
			if _, err := pipe.Exec(ctx); err != nil {
				s.moved(ctx)
			}
		})
	}
	all.Wait()
	return cmds
}

// failed is the answer to a command that could not be sent.
func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
