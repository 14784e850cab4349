package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/record"
)

const nothing = "-"

// batch is commands about one account to be carried out in one step. The first error of making them stays in it: then
// none is carried out.
type batch struct {
	*client

	account  string
	under    []string // keys that must hold something for it to be carried out
	holds    []any    // what
	unmet    error    // that one doesn't
	keys     []string // that the commands touch
	words    []any
	commands int   // how many commands it has
	needed   bool  // also by a Redis whose memory is full: it follows from what was done, or people are to be notified of it
	audited  int64 // the number of its audit entry, once it is carried out; 0: it has none
	err      error
}

// errUnmet says that a condition of a batch doesn't hold that names no error of its own.
var errUnmet = errors.New("a condition doesn't hold")

// batch is an empty one.
func (s *client) batch(account string) *batch {
	return &batch{client: s, account: account, unmet: errUnmet}
}

// only makes the batch depend on what a key holds; "": the key must not exist.
func (b *batch) only(key, holds string) {
	b.under, b.holds = append(b.under, key), append(b.holds, cmp.Or(holds, nothing))
}

// onlyHeld makes the batch depend on a lease that this process still holds.
func (b *batch) onlyHeld(l *lease) {
	b.only(l.key, l.token)
	b.unmet = leaseLost(l.key)
}

// touches notes that a command touches a key.
func (b *batch) touches(key string) {
	if !slices.Contains(b.keys, key) {
		b.keys = append(b.keys, key)
	}
}

// do adds a command that touches one key of the account.
func (b *batch) do(command, pattern string, args ...any) {
	b.doAt(command, b.key(pattern, b.account), args...)
}

// doAt adds a command that touches that key.
func (b *batch) doAt(command, key string, args ...any) {
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
func (b *batch) audit(e *record.AuditEntry) {
	if e == nil {
		return
	}
	oldest := int64(0)
	if b.audits > 0 {
		oldest = max(0, e.At.Add(-b.audits).UnixMilli())
	}
	entries := b.key(keyAudit, b.account)
	b.do("AUDIT", keyAudited, entries, oldest, b.json(e))
	b.touches(entries)
}

// save carries a batch out, if its conditions hold.
func (b *batch) save(ctx context.Context) error {
	if len(b.words) == 0 {
		return nil
	}
	err := b.err
	if err == nil {
		none := keyNone(b.keys[0])
		args := append([]any{len(b.holds)}, b.holds...)
		if b.needed {
			args = append(args, 2, "DEL", none)
		}
		b.audited, err = b.write(ctx, transact, slices.Concat(b.under, b.keys, []string{none}),
			append(args, b.words...)...).Int64()
	}
	if b.audited < 0 {
		err = b.unmet
	}
	return wrap(err, "save %s", b.keys[0])
}

// saveAsOwner carries a batch out while this process owns the account.
func (b *batch) saveAsOwner(ctx context.Context) error {
	under, err := b.ownerLease(b.account)
	if err != nil {
		return fmt.Errorf("save as the owner of %s: %w", b.account, err)
	}
	b.onlyHeld(under)
	return b.save(ctx)
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
	server, err := s.server(ctx, keys[0])
	if err != nil {
		return failed(ctx, err)
	}
	p := server.Pipeline()
	cmd := script.EvalSha(ctx, p, keys, args...)
	// On the same connection, for WAIT counts that connection's writes.
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
