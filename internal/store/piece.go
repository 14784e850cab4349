package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wafbot/wafbot/internal/delay"
)

// Piece is work that was handed over, until it is done or another replica has it.
type Piece struct {
	shard    *shard
	id, lane string // in the stream, and the key of its lane
	work     []byte
	asked    time.Time // for what gave it
}

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
