package commands

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// reconcile brings together what this call did and couldn't store, because it lost the lock, with what is stored by now: another
// replica may have taken the request over, and then it verified before it sent anything again.
func (x *executor) reconcile(ctx context.Context, c *job) error {
	for len(c.lost) > 0 {
		mine := c.lost[0]
		i := slices.IndexFunc(c.Changes, func(ch record.Change) bool { return ch.ID == mine.ID })
		if i < 0 { // Redis was emptied in between
			mine.State, mine.Fault = record.StateBegun, ""
			i, c.Changes = len(c.Changes), append(c.Changes, mine)
		}
		written := &c.Changes[i]
		for n := range written.Steps {
			if err := x.reconcileStep(ctx, c, written, n, mine.Steps[n]); err != nil {
				return change.Unsaved(mine, err)
			}
		}
		if written.State == record.StateBegun {
			written.Fault = ""
			if _, err := c.save(ctx, nil, nil, *written); err != nil {
				return change.Unsaved(mine, err)
			}
		}
		c.lost = c.lost[1:]
	}
	return nil
}

// reconcileStep takes over what this call knows of a step, and deletes a rule that it made beside the one that is stored.
func (x *executor) reconcileStep(ctx context.Context, c *job, ch *record.Change, n int, mine record.Step) error {
	switch written := &ch.Steps[n]; {
	case !mine.Done: // nothing is known of it
	case !written.Done:
		*written = mine
	case mine.Kind == record.CreateRule && mine.ID != written.ID:
		return x.deleteDouble(ctx, c, *ch, mine)
	}
	return nil
}

// deleteDouble deletes a rule that was made a second time.
func (x *executor) deleteDouble(ctx context.Context, c *job, ch record.Change, made record.Step) error {
	if err := change.IgnoreNotFound(x.cfg.Services[c.Account.Name].DeleteRule(ctx, made.ID)); err != nil {
		return err
	}
	double := *made.Rule
	double.ID = made.ID
	x.recorder.record(ctx, record.AuditEntry{
		At: x.cfg.Now(), Account: ch.Account, Actor: c.Actor, Line: ch.Line.String(), Outcome: "done", Change: ch.ID, Attack: ch.AttackID,
		After: []string{describe.Step(record.Step{Kind: record.DeleteRule, Rule: &double})}, Why: "it was made twice: this one is undone, the other one stays",
	})
	return nil
}
