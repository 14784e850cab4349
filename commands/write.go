package commands

import (
	"context"
	"errors"
)

// locked does something under the account's lock, one after another over all replicas.
func (r *Runner) locked(ctx context.Context, c *Call, do func(held context.Context, c *Call) (Result, error)) (Result, error) {
	if c.ID == "" {
		return Result{}, errors.New("a request that changes something has no delivery id")
	}
	held, unlock, err := r.cfg.Ledger.Lock(ctx, c.Account.Name)
	if err != nil {
		return Result{}, Away(err)
	}
	defer unlock()
	return do(held, c)
}

// write changes wafbot's own memory under the account's lock, and records it.
func (r *Runner) write(held context.Context, c *Call) (Result, error) {
	if r.late(c) {
		return Result{}, tooLate(c)
	}
	res, err := c.Cmd.Write(held, c)
	if err != nil {
		return Result{}, forPeople(err)
	}
	res.Account = c.Account.Name
	if c.Attack != nil {
		res.AttackID = c.Attack.ID
	}
	r.recordWrite(held, c, res)
	return res, nil
}

func (r *Runner) late(c *Call) bool { return !c.At.IsZero() && c.Now.Sub(c.At) > stale }

func tooLate(c *Call) error {
	return guarded(Say("that was asked at ", c.At, ", over ", HumanDuration(stale), " ago: nothing was done. Ask again if it is still wanted"))
}
