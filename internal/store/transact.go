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

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// transact carries out commands in one step, if a key holds what it should: a replica that lost a lease must not overwrite what the next owner
// stored since.
// KEYS[1] that key, or one of the commands' if there is no condition, the others all that the commands touch; ARGV[1] what it must hold, '-' if
// nothing, empty if there is no condition, then the commands, each as the number of its words and the words. Two are no commands of Redis: AUDIT
// counter stream oldest entry numbers an entry, appends it, and deletes those before the oldest id; STALE queue attack urgency id marks a card
// stale; of two marks the higher urgency and the earlier time stay. Result: -1 if nothing was done; else the entry's number, 0 if there was none.
var transact = redis.NewScript(`
if ARGV[1] ~= '' and (redis.call('GET', KEYS[1]) or '-') ~= ARGV[1] then return -1 end
local at, number = 2, 0
while at <= #ARGV do
  local n = tonumber(ARGV[at])
  local words = {}
  for i = 1, n do words[i] = ARGV[at + i] end
  if words[1] == 'AUDIT' then
    number = redis.call('INCR', words[2])
    redis.call('XADD', words[3], 'MINID', '~', words[4], '*', 'n', number, 'entry', words[5])
  elseif words[1] == 'STALE' then
    local t = redis.call('TIME')
    local urgency, since = tonumber(words[4]), string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
    local before, from = string.match(redis.call('HGET', words[2], words[3]) or '', '^(%d+) (%d+) ')
    if before then urgency, since = math.min(urgency, tonumber(before)), from end
    redis.call('HSET', words[2], words[3], urgency .. ' ' .. since .. ' ' .. words[5])
  else
    redis.call(unpack(words))
  end
  at = at + n + 1
end
return number`)

// condition is what a key must hold.
type condition struct{ key, holds string }

const nothing = "-"

// held is the condition that a lease wasn't lost.
func (l *lease) held() condition { return condition{l.key, l.token} }

// batch is commands to be carried out in one step. The first error of making them stays in it: then none is carried out.
type batch struct {
	keys     []string
	words    []any
	commands int
	err      error
}

// do adds a command that touches one key.
func (b *batch) do(command, key string, args ...any) {
	if !slices.Contains(b.keys, key) {
		b.keys = append(b.keys, key)
	}
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
	b.do("AUDIT", keyAudited(e.Account), keyAudit(e.Account), oldest, b.json(e))
	b.keys = append(b.keys, keyAudit(e.Account))
}

// transact carries a batch out, if a condition holds; the zero condition does. done is false if it doesn't. n is the number of the batch's audit
// entry, 0 if there is none.
func (s *client) transact(ctx context.Context, only condition, b *batch) (n int64, done bool, err error) {
	if b.err != nil || len(b.words) == 0 {
		return 0, true, b.err
	}
	keys := b.keys
	if only.holds != "" {
		keys = append([]string{only.key}, keys...)
	}
	n, err = s.write(ctx, transact, keys, append([]any{only.holds}, b.words...)...).Int64()
	return max(n, 0), n >= 0, err
}

// save carries a batch out. It fails with errLeaseLost if the condition doesn't hold; what names the batch in errors.
func (s *client) save(ctx context.Context, only condition, b *batch, what string) (n int64, err error) {
	n, done, err := s.transact(ctx, only, b)
	if err == nil && !done {
		err = leaseLost(only.key)
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

// save carries a batch out while the lock is held.
func (l *Lock) save(ctx context.Context, b *batch, what string) (n int64, err error) {
	if n, err = l.store.save(ctx, l.lease.held(), b, what); errors.Is(err, errLeaseLost) {
		err = fmt.Errorf("%w: %w", refusal.ErrLost, err)
	}
	return n, err
}

// copyTimeout bounds waiting for replicas to have a write.
const copyTimeout = opTimeout / 2

// errUncopied says that a write took place, but would be lost with the server that took it.
var errUncopied = errors.New("written, but too few replicas of redis have it")

// write runs a script whose effect must outlive the server that takes it: it returns when as many replicas of that server have it as the
// configuration wants. After an error the effect may have taken place.
func (s *client) write(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	if s.copies == 0 {
		return script.Run(ctx, s.rdb, keys, args...)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
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

// moved reloads a cluster's layout, as after a failover. By itself the client does that once a minute, or when a server redirects it.
func (s *client) moved(ctx context.Context) {
	if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}
