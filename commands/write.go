package commands

import (
	"context"
	"errors"
	"time"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How long, and how often, it is tried to write down what was sent after the lock was lost.
const (
	lostFor   = 2 * time.Minute
	lostEvery = 500 * time.Millisecond
)

// job is a call that changes something, with the right to.
type job struct {
	*Call
	lock Lock
	lost []record.Change // as they were when they couldn't be saved, because the lock was lost
}

// locked does something under the account's lock, one after another over all replicas. Whoever loses the lock meanwhile, because he was paused
// or Redis was away for too long, takes it again and looks what became of it: somebody else may have gone on with it.
func (r *Runner) locked(ctx context.Context, c *job, do func(held context.Context, c *job) (Result, error)) (Result, error) {
	if c.ID == "" {
		return Result{}, errors.New("a request that changes something has no delivery id")
	}
	for {
		held, lock, err := r.cfg.Ledger.Lock(ctx, c.Account.Name)
		switch {
		case err == nil:
		case len(c.lost) == 0:
			return Result{}, Away(err)
		case delay.Sleep(ctx, lostEvery) != nil || r.cfg.Now().Sub(c.lost[0].At) > lostFor:
			return Result{}, unsaved(c.lost[0], err)
		default:
			continue
		}
		c.lock = lock
		res, err := do(held, c)
		lock.Unlock()
		if !errors.Is(err, ErrLost) {
			return res, err
		}
		r.cfg.Log.Warn("lost the lock in the middle of a change, looking again", "account", c.Account.Name, "err", err)
	}
}

// write changes wafbot's own memory under the account's lock, and records it.
func (r *Runner) write(held context.Context, c *job) (Result, error) {
	if late(c.Call) {
		return Result{}, tooLate(c.Call)
	}
	c.loaded = newFacts()
	res, err := withFacts(held, r, c.Call, c.Cmd.Write)
	if err != nil {
		return Result{}, forPeople(err)
	}
	if err := r.saveAll(held, c, res.Saves); err != nil {
		return Result{}, Away(err)
	}
	res.Account = c.Account.Name
	if c.Attack != nil {
		res.AttackID = c.Attack.ID
	}
	r.recordWrite(held, c.Call, res)
	return res, nil
}

func late(c *Call) bool { return !c.At.IsZero() && c.Now.Sub(c.At) > stale }

func tooLate(c *Call) error {
	return refusal.Guarded(text.New("that was asked at ", c.At, ", over ", text.HumanDuration(stale), " ago: nothing was done. Ask again if it is still wanted"))
}
