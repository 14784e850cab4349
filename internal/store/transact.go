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

	"github.com/wafbot/wafbot/internal/record"
)

// conditions are what keys must hold for a batch to be carried out, and the error if one of them doesn't.
type conditions struct {
	keys  []string
	holds []any
	unmet error
}

const nothing = "-"

// and is the conditions with one more.
func (c conditions) and(key, holds string) conditions {
	c.keys, c.holds = append(slices.Clip(c.keys), key), append(slices.Clip(c.holds), cmp.Or(holds, nothing))
	return c
}

// held is the condition that a lease wasn't lost.
func (l *lease) held() conditions {
	return conditions{unmet: leaseLost(l.key)}.and(l.key, l.token)
}

// batch is commands to be carried out in one step. The first error of making them stays in it: then none is carried
// out.
type batch struct {
	keyspace

	keys     []string
	words    []any
	commands int
	needed   bool // also by a Redis whose memory is full: it follows from what was done, or people are to be notified of it
	err      error
}

// batch is an empty one.
func (s *client) batch() batch { return batch{keyspace: s.keyspace} }

// touches notes that a command touches a key.
func (b *batch) touches(key string) {
	if !slices.Contains(b.keys, key) {
		b.keys = append(b.keys, key)
	}
}

// do adds a command that touches one key.
func (b *batch) do(command, key string, args ...any) {
	b.touches(key)
	b.commands++
	b.words = append(append(b.words, 2+len(args), command, key), args...)
}

// json is a value as it is stored.
func (b *batch) json(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		b.err = cmp.Or(b.err, fmt.Errorf("write %T: %w", value, err))
	}
	return text
}

// audit adds an audit entry, at most one, and deletes those that are too old; nil: there is none.
func (b *batch) audit(e *record.AuditEntry, keep time.Duration) {
	if e == nil {
		return
	}
	oldest := int64(0)
	if keep > 0 {
		oldest = max(0, e.At.Add(-keep).UnixMilli())
	}
	b.do("AUDIT", b.key(keyAudited, e.Account), b.key(keyAudit, e.Account), oldest, b.json(e))
	b.touches(b.key(keyAudit, e.Account))
}

// errUnmet says that a condition of a batch doesn't hold that names no error of its own.
var errUnmet = errors.New("a condition doesn't hold")

// save carries a batch out, if its conditions hold, and gives the number of its audit entry, 0 if there is none; what
// names the batch in errors.
func (s *client) save(ctx context.Context, only conditions, b *batch, what string) (n int64, err error) {
	if err = b.err; err == nil && len(b.words) > 0 {
		none := keyNone(b.keys[0])
		args, keys := append([]any{len(only.keys)}, only.holds...), append(slices.Concat(only.keys, b.keys), none)
		if b.needed {
			args = append(args, 2, "DEL", none)
		}
		n, err = s.write(ctx, transact, keys, append(args, b.words...)...).Int64()
	}
	if err == nil && n < 0 {
		err = cmp.Or(only.unmet, errUnmet)
	}
	if err != nil {
		return 0, fmt.Errorf("save %s: %w", what, err)
	}
	return n, nil
}

// saveAsOwner carries a batch out while this process owns the account.
func (s *client) saveAsOwner(ctx context.Context, account string, b *batch, what string) error {
	under, err := s.ownerLease(account)
	if err != nil {
		return fmt.Errorf("save %s: %w", what, err)
	}
	_, err = s.save(ctx, under.held(), b, what)
	return err
}

// copyTimeout bounds waiting for replicas to have a write.
const copyTimeout = opTimeout / 2

// errUncopied says that a write took place, but would be lost with the server that took it.
var errUncopied = errors.New("written, but too few replicas of redis have it")

// write runs a script whose effect must outlive the server that takes it: it returns when as many replicas of that
// server have it as the configuration wants. After an error the effect may have taken place.
func (s *client) write(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	if s.copies == 0 {
		return script.Run(ctx, s.rdb, keys, args...)
	}
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout())
	defer cancel()
	cmd := s.writeCopied(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return script.EvalSha(ctx, p, keys, args...) })
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = s.writeCopied(ctx, keys, func(p redis.Pipeliner) *redis.Cmd { return script.Eval(ctx, p, keys, args...) })
	}
	return cmd
}

// writeCopied sends a command and, on the same connection because WAIT counts that connection's writes, WAIT.
func (s *client) writeCopied(ctx context.Context, keys []string, run func(redis.Pipeliner) *redis.Cmd) *redis.Cmd {
	server, err := s.server(ctx, keys[0])
	if err != nil {
		return failed(ctx, err)
	}
	p := server.Pipeline()
	cmd := run(p)
	copied := p.Do(ctx, "WAIT", s.copies, copyTimeout.Milliseconds())
	_, err = p.Exec(ctx)
	switch n, waitErr := copied.Int(); {
	case cmd.Err() != nil:
		s.moved(ctx)
	case waitErr != nil:
		cmd.SetErr(fmt.Errorf("wait for replicas of redis: %w", err))
	case n < s.copies:
		cmd.SetErr(errUncopied)
	}
	return cmd
}

// server is the one that takes the writes of a key.
func (s *client) server(ctx context.Context, key string) (redis.UniversalClient, error) {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return s.rdb, nil
	}
	server, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("find the server of a key: %w", err)
	}
	return server, nil
}

// moved reloads a cluster's layout, as after a failover. By itself the client does that once a minute, or when a server
// redirects it.
func (s *client) moved(ctx context.Context) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}
