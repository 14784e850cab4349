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

// changeService plans what a line asks for, claims what that touches, and carries it out.
func changeService(ctx context.Context, c *job) (res call.Result, err error) {
	begun, whole := c.begun(c.Account.Name, c.Changes)
	switch late := approval.Late(c.Call); {
	case whole || late && len(begun) > 0:
		return c.resumeAll(ctx, begun, whole)
	case late:
		return c.tooLate(ctx)
	}
	plans, err := plan(ctx, c, len(begun) > 0)
	if err != nil {
		return res, err
	}
	if needsRequest(c.Call, plans) {
		return askApproval(ctx, c, plans)
	}
	res, err = c.carryOutPlans(ctx, plans)
	if res.Outcome == "dry_run" && len(c.Needs) > 0 {
		res.Lines = append(res.Lines, approval.Note(c.Call))
	}
	return res, err
}

// plan makes the plans of a line and guards them. begun reports that this delivery has begun to carry them out before.
func plan(ctx context.Context, c *job, begun bool) ([]call.Plan, error) {
	c.Needs = nil // of an attempt before
	plans, err := c.planOn(ctx)
	if !begun {
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
func (c *job) planOn(ctx context.Context) ([]call.Plan, error) {
	c.tellTime(c.Call)
	unread := *c.Call
	unread.Facts = &call.Facts{}
	if _, err := c.Cmd.Plan(&unread); err != nil && !errors.Is(err, call.ErrUnread) {
		return nil, err
	}
	c.load(ctx, c.Call, whileCallLasts, c.Cmd.Needs)
	plans, err := c.Cmd.Plan(c.Call)
	noteUnplanned(ctx, c, err)
	return plans, err
}

// resumeAll answers a request that came before: what it began is finished, what is done is only said.
func (c *job) resumeAll(ctx context.Context, mine []record.Change, whole bool) (call.Result, error) {
	res := call.Result{Account: c.Account.Name, AttackID: mine[0].AttackID}
	var failed []error
	for _, ch := range mine {
		err := c.resume(ctx, ch, &res)
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
		res.Lines = append(res.Lines, text.Newf("It was asked over %v ago: what was not begun by then was not done",
			text.Duration(approval.MaxAge)))
	}
	return res, nil
}

// begun are the account's changes that this very delivery made before. After a crash it resumes them instead of
// planning again. whole reports that there are no others: they were claimed together. For a line that undoes many, only
// a new plan knows; it finds the begun ones by their ids.
func (c *job) begun(account string, changes []record.Change) (mine []record.Change, whole bool) {
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
