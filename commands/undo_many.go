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

// carryOutNext carries out one plan when its turn has come.
func (x *executor) carryOutNext(ctx context.Context, c *job, id string, p call.Plan, res *call.Result) error {
	if p.Later == nil || slices.ContainsFunc(c.Changes, func(ch record.Change) bool { return ch.ID == id }) {
		return x.carryOutPlan(ctx, c, id, p, res)
	}
	var err error
	c.Loaded = call.NewFacts() // what the plans before did
	x.loader.load(ctx, c.Loaded, []call.Need{{Account: c.Account.Name, Fact: call.FactChanges}})
	if c.Changes, err = c.Given().Changes(); err != nil {
		return refusal.Away(err)
	}
	full, err := withFacts(ctx, x.loader, c.Call, p.Later)
	switch {
	case errors.Is(err, refusal.ErrNothing):
		text, _ := call.ForPeople(c.Invocation, err)
		res.Lines = append(res.Lines, text)
		x.recorder.recordPlan(ctx, c.Call, p, "nothing", text.String())
		return nil
	case err != nil:
		x.noteRefused(ctx, c, err, change.RefusedUndo(c.Call, p.Undoes))
		err = refusal.NotBegun(err)
		x.recorder.recordPlan(ctx, c.Call, p, "failed", err.Error())
		return fmt.Errorf("%w: %w", refusal.ErrRecorded, err)
	}
	return x.carryOutPlan(ctx, c, id, full, res)
}
