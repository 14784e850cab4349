package commands

import (
	"context"
	"errors"
)

// write changes wafbot's own memory under the account's lock, and records it.
func (r *Runner) write(ctx context.Context, c *Call) (Result, error) {
	if c.ID == "" {
		return Result{}, errNoDelivery
	}
	held, unlock, err := r.cfg.Ledger.Lock(ctx, c.Account.Name)
	if err != nil {
		return Result{}, Away(err)
	}
	defer unlock()
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
	r.recordWrite(ctx, c, res)
	return res, nil
}

var errNoDelivery = errors.New("a request that changes something has no delivery id")

func (r *Runner) late(c *Call) bool { return !c.At.IsZero() && c.Now.Sub(c.At) > stale }

func tooLate(c *Call) error {
	return guarded(Say("that was asked at ", c.At, ", over ", HumanDuration(stale), " ago: nothing was done. Ask again if it is still wanted"))
}
