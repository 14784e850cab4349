package commands

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// How long, and how often, it is tried to write down what was sent after the lock was lost.
const (
	resaveFor   = 2 * time.Minute
	resaveEvery = 500 * time.Millisecond
)

// job is a call that changes something, with the right to.
type job struct {
	*call.Call
	lock Lock
	lost []record.Change // as they were when they couldn't be saved, because the lock was lost
}

// locked does something under the account's lock, one after another over all replicas. Whoever loses the lock meanwhile, because he was paused
// or Redis was away for too long, takes it again and looks what became of it: somebody else may have gone on with it.
func (r *Runner) locked(ctx context.Context, c *job, do func(held context.Context, c *job) (call.Result, error)) (call.Result, error) {
	if c.ID == "" {
		return call.Result{}, errors.New("a request that changes something has no delivery id")
	}
	for {
		held, lock, err := r.cfg.Ledger.Lock(ctx, c.Account.Name)
		switch {
		case err == nil:
		case len(c.lost) == 0:
			return call.Result{}, refusal.Away(err)
		case delay.Sleep(ctx, resaveEvery) != nil || r.cfg.Now().Sub(c.lost[0].At) > resaveFor:
			return call.Result{}, change.Unsaved(c.lost[0], err)
		default:
			continue
		}
		c.lock = lock
		res, err := do(held, c)
		lock.Unlock()
		if !errors.Is(err, refusal.ErrLost) {
			return res, err
		}
		r.cfg.Log.Warn("lost the lock in the middle of a change, looking again", "account", c.Account.Name, "err", err)
	}
}

// write changes wafbot's own memory under the account's lock, and records it.
func (r *Runner) write(held context.Context, c *job) (call.Result, error) {
	if approval.Late(c.Call) {
		return call.Result{}, approval.TooLate(c.Call)
	}
	c.Loaded = call.NewFacts()
	res, err := withFacts(held, r, c.Call, c.Cmd.Write)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	if err := r.saveWrites(held, c, res.Saves); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	res.Account = c.Account.Name
	if c.Attack != nil {
		res.AttackID = c.Attack.ID
	}
	r.recordWrite(held, c.Call, res)
	return res, nil
}
