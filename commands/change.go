package commands

import (
	"context"
	"errors"
	"strconv"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// change plans what a line asks for, claims what that touches, and carries it out.
func (r *Runner) change(ctx context.Context, c *job) (call.Result, error) {
	begun, whole := c.begun()
	switch late := approval.Late(c.Call); {
	case whole || late && len(begun) > 0:
		return r.executor.resumeAll(ctx, c, begun, whole)
	case late:
		if res, ok := r.loader.askedBefore(ctx, c); ok {
			return res, nil
		}
		return call.Result{}, approval.TooLate(c.Call)
	}
	plans, err := r.plan(ctx, c, len(begun) > 0)
	if err != nil {
		return call.Result{}, err
	}
	if needsRequest(c.Call, plans) {
		return r.askApproval(ctx, c, plans)
	}
	res, err := r.executor.carryOutPlans(ctx, c, plans)
	if res.Outcome == "dry_run" && len(c.Needs) > 0 {
		res.Lines = append(res.Lines, approval.Note(c.Call))
	}
	return res, err
}

// plan makes the plans of a line and guards them. begun reports that this delivery has begun to carry them out before.
func (r *Runner) plan(ctx context.Context, c *job, begun bool) ([]call.Plan, error) {
	c.Needs = nil // of an attempt before
	plans, err := r.loader.planOn(ctx, c.Call)
	r.executor.noteUnplanned(ctx, c, err)
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

// planOn makes a line's plans on what it needs. What is refused whatever stands there isn't kept waiting for the
// service.
func (l *loader) planOn(ctx context.Context, c *call.Call) ([]call.Plan, error) {
	l.cfg.tellTime(c, l.cfg.Clocks.Now())
	unread := *c
	unread.Facts = &call.Facts{}
	if _, err := c.Cmd.Plan(&unread); err != nil && !errors.Is(err, call.ErrUnread) {
		return nil, err
	}
	l.load(ctx, c, whileCallLasts, c.Cmd.Needs)
	return c.Cmd.Plan(c)
}

// resumeAll answers a request that came before: what it began is finished, what is done is only said.
func (x *executor) resumeAll(ctx context.Context, c *job, mine []record.Change, whole bool) (call.Result, error) {
	res := call.Result{Account: c.Account.Name, AttackID: mine[0].AttackID}
	var failed []error
	for _, ch := range mine {
		err := x.resume(ctx, c, ch, &res)
		switch {
		case refusal.PlansAgain(err), errors.Is(err, refusal.ErrAway):
			return res, err
		case err != nil:
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return res, partlyDone(len(mine), res, failed)
	}
	if !whole {
		res.Lines = append(res.Lines, text.New("It was asked over ", text.Duration(approval.MaxAge), " ago: what was not begun by then was not done"))
	}
	return res, nil
}

// begun are the changes that this very delivery made before: after a crash it goes on with them instead of planning
// again. whole reports that there are no others, for they were claimed together; of a line that undoes many only a new
// plan knows, which finds those that were begun by their ids.
func (c *job) begun() (mine []record.Change, whole bool) {
	return c.begunOf(c.Account.Name, c.Changes)
}

// begunOf is begun, of the changes of an account.
func (c *job) begunOf(account string, changes []record.Change) (mine []record.Change, whole bool) {
	for part := range max(c.Cmd.Parts, 1) {
		id := record.ChangeID(account, c.ID, strconv.Itoa(part))
		if i := record.IndexChange(changes, id); i >= 0 {
			mine = append(mine, changes[i])
		}
	}
	whole = len(mine) > 0
	for _, ch := range changes {
		if ch.Undoes != "" && ch.ID == record.ChangeID(account, c.ID, ch.Undoes) {
			mine = append(mine, ch)
		}
	}
	return mine, whole
}
