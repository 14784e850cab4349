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

// How long, and how often, it is tried to store what was sent after the lock was lost.
const (
	resaveFor   = 2 * time.Minute
	resaveEvery = 500 * time.Millisecond
)

// job is a call on its way through the Runner; under the lock, with the right to change its account.
type job struct {
	*call.Call
	changes bool // it asks for a change, at the service or in the store
	lock    Lock
	lost    []record.Change // as they were when they couldn't be saved, because the lock was lost
}

// named is the account as the line names it; "": it doesn't.
func (c *job) named() string { return c.Invocation.Line.Keys["account"] }

// outlive is a context for what must be stored even when the caller has gone: what was sent, and what was decided.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// locked does something under the account's lock, one after another over all replicas. A process that loses the lock meanwhile, because it was paused
// or Redis was away for too long, takes it again and verifies what became of its change: another may have resumed it.
func (r *Runner) locked(ctx context.Context, c *job, do func(held context.Context, c *job) (call.Result, error)) (call.Result, error) {
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
		r.cfg.Log.Warn("lost the lock in the middle of a change, verifying it", "account", c.Account.Name, "err", err)
	}
}

// write stores what a command writes, and records it.
func (r *Runner) write(held context.Context, c *job) (call.Result, error) {
	if approval.Late(c.Call) {
		return call.Result{}, approval.TooLate(c.Call)
	}
	c.Loaded = call.NewFacts()
	res, err := withFacts(held, r.loader, c.Call, c.Cmd.Write)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	if err := r.saveWrites(held, c, res.Saves); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	res.Account, res.AttackID = c.Account.Name, c.AttackID()
	r.recorder.recordWrite(held, c.Call, res)
	return res, nil
}

// saveWrites stores what a command writes, one after another. The first error ends it.
func (r *Runner) saveWrites(ctx context.Context, c *job, s call.Saves) error {
	if len(s.Triage) > 0 || s.Drill == nil && len(s.Events) > 0 {
		if err := c.lock.SaveTriage(ctx, s.Triage, s.Events...); err != nil {
			return err
		}
		r.cfg.Notifier.Redraw(c.Account.Name)
	}
	if s.Mutes != nil {
		if err := c.lock.SaveMutes(ctx, s.Mutes.All, s.Mutes.Stale...); err != nil {
			return err
		}
	}
	if s.Protected != nil {
		if err := c.lock.SaveProtected(ctx, s.Protected.All, s.Protected.Stale...); err != nil {
			return err
		}
	}
	if s.Drill != nil {
		if err := c.lock.SaveDrill(ctx, *s.Drill, s.Events...); err != nil {
			return err
		}
	}
	if len(s.OwnCards) > 0 {
		if err := r.cfg.Storms.WantCards(ctx, c.Account.Name, s.OwnCards); err != nil {
			return err
		}
	}
	if len(s.Events) > 0 {
		r.cfg.Notifier.Notify(c.Account.Name, s.Events)
	}
	return nil
}
