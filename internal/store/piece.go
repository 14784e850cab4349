package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/delay"
)

// Piece is work that was handed over, until it is done or another replica has it.
type Piece struct {
	shard    *shard
	id, lane string // in the stream, and the key of its lane
	work     []byte
}

// settle passes the turn of work in its lane, or takes the work off the stream, which passes its turn as well if it
// wasn't yet; unless another replica has taken the work over, which then passes the turn. Doing it twice does no more
// than doing it once. LPOP comes first: after a first write Redis takes the others even if its memory is full.
// KEYS[1] the stream, KEYS[2] the lane; ARGV[1] the group, ARGV[2] the replica, ARGV[3] the work's id, ARGV[4] the
// replica that takes what is new in hand, ” if none does, ARGV[5] pass, done, or ask: then nothing changes.
// Result: 0 if another replica has the work, else 1. Then what is new.
var settle = newScript(takeNew + `
local p = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if p.err or #p == 0 then return {1, {}} end
if p[1][2] ~= ARGV[2] then return {0, {}} end
if ARGV[5] == 'ask' then return {1, {}} end
local fresh = {}
if redis.call('LINDEX', KEYS[2], 0) == ARGV[3] then
  redis.call('LPOP', KEYS[2])
  local work = redis.call('LPOP', KEYS[2])
  if work then
    redis.call('LPUSH', KEYS[2], redis.call('XADD', KEYS[1], '*', 'work', work, 'lane', KEYS[2]))
    if ARGV[4] ~= '' then fresh = takeNew(KEYS[1], ARGV[1], ARGV[4]) end
  end
end
if ARGV[5] == 'done' then
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
  redis.call('XDEL', KEYS[1], ARGV[3])
end
return {1, fresh}`)

// Work is what was accepted.
func (p *Piece) Work() []byte { return p.work }

// Mine reports whether the work is still this replica's: a replica that counted as dead has lost it, and must do no
// more about it.
func (p *Piece) Mine(ctx context.Context) bool {
	n, _, err := p.shard.read(settle.Run(ctx, p.shard.store.rdb, p.keys(), p.args("", "ask")...))
	if err == nil && n == 0 {
		p.shard.end(p.id)
	}
	return err != nil || n == 1
}

// Pass has the lane's next work handed over though this isn't done: what it does can't change any more. It goes on
// until Redis has stored it, or the context ends.
func (p *Piece) Pass(ctx context.Context) error { return p.settle(ctx, "pass") }

// Done takes the work off the stream when it is carried out, however long that took, and passes the turn if Pass
// didn't. It goes on until Redis has stored it, or the context ends.
func (p *Piece) Done(ctx context.Context) error {
	defer p.shard.end(p.id)
	return p.settle(ctx, "done")
}

// settle tries until Redis answers. What counts is stored also after a stop: it tries at least once.
func (p *Piece) settle(ctx context.Context, as string) error {
	for {
		_, err := p.shard.taking(func(taker string) *redis.Cmd {
			return p.shard.store.write(context.WithoutCancel(ctx), settle, p.keys(), p.args(taker, as)...)
		})
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("settle work: %w", err)
		}
		_ = delay.Sleep(ctx, opTimeout/4)
	}
}

func (p *Piece) keys() []string { return []string{p.shard.key(keyStream), p.lane} }

func (p *Piece) args(taker, as string) []any {
	return []any{group, p.shard.store.replica, p.id, taker, as}
}
