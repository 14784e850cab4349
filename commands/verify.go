package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// verifyOrResend reads back what a call of unknown outcome did, at once and after each wait; never found, it is sent once more, unless it was asked too long ago.
func (x *executor) verifyOrResend(ctx context.Context, c *job, ch *record.Change, step *record.Step) error {
	for _, wait := range []time.Duration{0, x.cfg.ReadBack[0], x.cfg.ReadBack[1]} {
		if err := delay.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("%w: %w", change.ErrOutcomeUnknown, err)
		}
		found, err := x.verify(ctx, x.cfg.Services[c.Account.Name], *ch, step)
		if err != nil {
			return fmt.Errorf("%w: read back: %w", change.ErrOutcomeUnknown, err)
		}
		if found {
			return nil
		}
	}
	if c.Now.Sub(ch.At) > approval.MaxAge && !ch.Partly() {
		return refusal.Guarded(text.New("it was asked at ", ch.At, ", over ", text.Duration(approval.MaxAge), " ago, and nothing of it was done. Ask again if it is still wanted"))
	}
	step.Again = true
	if _, err := c.save(ctx, nil, nil, *ch); err != nil {
		return err
	}
	if err := send(ctx, x.cfg.Services[c.Account.Name], step); err != nil {
		return err
	}
	return x.deleteDoubles(ctx, c, *ch, step)
}

// deleteDoubles deletes a rule that was sent twice and made twice: the first may have been on its way all the time. One that shows later still
// is deleted when the change is undone.
func (x *executor) deleteDoubles(ctx context.Context, c *job, ch record.Change, step *record.Step) error {
	if step.Kind != record.CreateRule {
		return nil
	}
	_ = delay.Sleep(ctx, x.cfg.ReadBack[1]) // after a stop the look fails by itself
	ids, err := equalRules(ctx, x.cfg.Services[c.Account.Name], *step.Rule)
	if err != nil { // the undo verifies again
		x.cfg.Log.Warn("look whether a rule was made twice", "account", ch.Account, "change", ch.ID, "err", err)
		ids = nil
	}
	for _, id := range ids {
		if id == step.ID || slices.Contains(step.Equal, id) {
			continue
		}
		double := *step
		double.ID = id
		if err := x.deleteDouble(ctx, c, ch, double); err != nil {
			return err
		}
	}
	return nil
}

// verify reads the listings that tell whether a step that was sent took effect.
func (x *executor) verify(ctx context.Context, s Service, ch record.Change, step *record.Step) (bool, error) {
	switch step.Kind {
	case record.AddEntry, record.DeleteEntry:
		entries, err := collect(s.IPRules(ctx, apiclient.IPRuleFilter{List: step.Entry.List}))
		return err == nil && efficacy.EntryStepDone(entries, ch, step), err
	case record.CreateRule:
		rules, err := collect(s.Rules(ctx, apiclient.RuleFilter{}))
		return err == nil && efficacy.RuleStepDone(rules, step), err
	}
	return false, nil // deleting a rule again does no harm
}

// equalRules are the ids of the rules that do the same.
func equalRules(ctx context.Context, s Service, want apiclient.Rule) ([]int64, error) {
	rules, err := collect(s.Rules(ctx, apiclient.RuleFilter{}))
	return efficacy.EqualRules(rules, want), err
}

// reconcile brings together what this call did and couldn't store, because it lost the lock, with what is stored by now: another
// replica may have taken the request over, and then it verified before it sent anything again.
func (x *executor) reconcile(ctx context.Context, c *job) error {
	for len(c.lost) > 0 {
		mine := c.lost[0]
		i := record.IndexChange(c.Changes, mine.ID)
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
