package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// turn carries out one plan when its turn has come.
func (r *Runner) carryOutNext(ctx context.Context, c *job, id string, p call.Plan, res *call.Result) error {
	if p.Later == nil || slices.ContainsFunc(c.Changes, func(ch record.Change) bool { return ch.ID == id }) {
		return r.carryOutPlan(ctx, c, id, p, res)
	}
	var err error
	if c.Changes, err = r.cfg.Ledger.Changes(ctx, c.Account.Name); err != nil {
		return refusal.Away(err)
	}
	c.Loaded = call.NewFacts()
	full, err := withFacts(ctx, r, c.Call, p.Later)
	switch {
	case errors.Is(err, refusal.ErrNothing):
		text, _ := call.ForPeople(c.Invocation, err)
		res.Lines = append(res.Lines, text)
		r.recordPlan(ctx, c.Call, p, "nothing", text.String())
		return nil
	case err != nil:
		r.noteRefused(ctx, c, err, change.RefusedUndo(c.Call, p.Undoes))
		err = refusal.NotBegun(err)
		r.recordPlan(ctx, c.Call, p, "failed", err.Error())
		return fmt.Errorf("%w: %w", refusal.ErrRecorded, err)
	}
	return r.carryOutPlan(ctx, c, id, full, res)
}
