package commands

import (
	"context"
	"strconv"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// change plans and carries out under the account's lock, so that what the plan saw still holds when it is done.
func (r *Runner) change(held context.Context, c *job) (call.Result, error) {
	if err := r.loadLocked(held, c); err != nil {
		return call.Result{}, err
	}
	begun, whole := r.begun(c)
	switch late := approval.Late(c.Call); {
	case whole || late && len(begun) > 0:
		return r.executor.resumeAll(held, c, begun, whole)
	case late:
		if res, ok := r.askedBefore(held, c); ok {
			return res, nil
		}
		return call.Result{}, approval.TooLate(c.Call)
	}
	plans, err := r.plan(held, c, len(begun) > 0)
	if err != nil {
		return call.Result{}, err
	}
	if needsRequest(c.Call, plans) {
		return r.askApproval(held, c, plans)
	}
	res, err := r.executor.carryOutPlans(held, c, plans)
	if res.Outcome == "dry_run" && len(c.Needs) > 0 {
		res.Lines = append(res.Lines, approval.Note(c.Call))
	}
	return res, err
}

// loadLocked loads, under the account's lock, what each change goes by, and adds what this call did before it lost the lock. Everything after
// works on these facts.
func (r *Runner) loadLocked(held context.Context, c *job) (err error) {
	c.Loaded = call.NewFacts()
	changes := call.Need{Account: c.Account.Name, Fact: call.FactChanges}
	r.loader.load(held, c.Loaded, changes, call.Need{Account: c.Account.Name, Fact: call.FactContext})
	if c.Changes, err = c.Given().Changes(); err == nil {
		err = c.LoadContext()
	}
	if err != nil {
		return refusal.Away(err)
	}
	if len(c.lost) > 0 {
		err = r.executor.reconcile(held, c)
		c.Loaded.Known[changes] = call.Loaded{Value: c.Changes}
	}
	return err
}

// plan makes the plans of a line and guards them. begun reports that this delivery has begun to carry them out before.
func (r *Runner) plan(held context.Context, c *job, begun bool) ([]call.Plan, error) {
	c.Needs = nil // of an attempt before
	plans, err := withFacts(held, r.loader, c.Call, c.Cmd.Plan)
	r.executor.noteUnplanned(held, c, err)
	if err != nil && !begun {
		err = refusal.NotBegun(err)
	}
	if err != nil {
		return nil, refusal.FromService(err)
	}
	for _, p := range plans {
		if err := approval.RequireRole(c.Call, p.Role); err != nil {
			return nil, err
		}
	}
	return plans, approval.RequireConfirmation(c.Call, plans)
}

// resumeAll answers a request that came before: what it began is finished, what is done is only said.
func (x *executor) resumeAll(ctx context.Context, c *job, mine []record.Change, whole bool) (call.Result, error) {
	res := call.Result{Account: c.Account.Name, AttackID: mine[0].AttackID}
	for _, ch := range mine {
		if err := x.resume(ctx, c, ch, &res); err != nil {
			return res, err
		}
	}
	switch {
	case !whole && c.Cmd.Parts == 0:
		res.Lines = append(res.Lines, text.New("It was asked over ", text.Duration(approval.MaxAge), " ago: what was not begun by then was not done"))
	case !whole:
		res.Lines = append(res.Lines, text.New("The rest was asked over ", text.Duration(approval.MaxAge), " ago and not begun: it was not done"))
	}
	return res, nil
}

// begun are the changes that this very delivery made before: after a crash it goes on with them instead of planning again. whole reports that
// there are no others; of a line that undoes many only a new plan knows, which finds those that were begun by their ids.
func (r *Runner) begun(c *job) (mine []record.Change, whole bool) {
	parts := max(c.Cmd.Parts, 1)
	for part := range parts {
		id := record.ChangeID(c.Account.Name, c.ID, strconv.Itoa(part))
		if i := record.IndexChange(c.Changes, id); i >= 0 {
			mine = append(mine, c.Changes[i])
		}
	}
	whole = len(mine) == parts
	for _, ch := range c.Changes {
		if ch.Undoes != "" && ch.ID == record.ChangeID(c.Account.Name, c.ID, ch.Undoes) {
			mine = append(mine, ch)
		}
	}
	return mine, whole
}
