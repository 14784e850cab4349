package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// executor finds and loads what commands work on, carries out their plans (it claims what they touch, sends their
// steps, verifies them, and stores what became of them), and writes the audit log.
type executor struct {
	*Config
	accounts map[string]*config.Account // by name
	refusals refusals
}

// carryOutPlans carries out the plans one after another, each as a change of its own. What they touch is claimed before
// anything is sent, all or none; but of what is planned when its turn comes, by itself. What is sent right after the
// claim is stored as sent with it.
func (c *job) carryOutPlans(ctx context.Context, plans []call.Plan) (call.Result, error) {
	res := call.Result{Outcome: "nothing", Account: c.Account.Name, AttackID: c.AttackID()}
	plans = slices.Clone(plans)
	made, err := c.newChanges(ctx, plans)
	if err != nil {
		return res, err
	}
	atOnce := len(made) > 0 && made[0].ID == approval.ChangeID(c.Call, plans[0], 0)
	if atOnce {
		err = c.markSent(ctx, together(made[0].Steps))
	}
	if err != nil {
		return res, err
	}
	held := ctx
	if len(made) > 0 {
		if held, c.claim, err = c.draft.Claim(ctx, change.Scheduled(made...)...); err != nil {
			return res, refusal.Away(err)
		}
		defer c.claim.Release(ctx)
		c.passTurn()
	}
	var failed []error
	for i, p := range plans {
		id := approval.ChangeID(c.Call, p, i)
		known, fresh := record.IndexChange(c.Changes, id), record.IndexChange(made, id)
		switch {
		case fresh >= 0:
			err = c.carryOutChange(held, made[fresh], atOnce && fresh == 0, &res)
			if err == nil {
				res.Lines = append(res.Lines, p.Notes...)
			}
		case known >= 0:
			err = c.resume(ctx, c.Changes[known], &res)
		case p.Later:
			err = carryOutLater(ctx, c, p, &res)
		default:
			err = carryOutNothing(ctx, c, p, &res)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return res, partlyDone(len(plans), res, failed)
	}
	return res, nil
}

// newChanges are the changes to make: of plans that aren't carried out yet, and whose effect nothing has. A plan whose
// effect is there says whose it is.
func (c *job) newChanges(ctx context.Context, plans []call.Plan) (made []record.Change, err error) {
	for i := range plans {
		p, id := &plans[i], approval.ChangeID(c.Call, plans[i], i)
		if p.Later || record.IndexChange(c.Changes, id) >= 0 {
			continue
		}
		if i := slices.IndexFunc(c.Changes, func(ch record.Change) bool { return change.HasEffect(c.Call, ch, *p) }); i >= 0 {
			p.Nothing, p.Steps = change.DoneAlready(c.Changes[i], *p), nil
		}
		if len(p.Nothing) == 0 && c.Policy.ChangesNow() == config.ChangesOn {
			ch := c.newChange(id, *p)
			ch.Observed = observed(ctx, c)
			if len(made) > 0 {
				ch.With = made[0].ID
			}
			if err := notInHand(c, ch.Targets()); err != nil {
				return nil, err
			}
			made = append(made, ch)
		}
	}
	return made, nil
}

// carryOutNothing says why there is nothing to do, or, as a dry run, what would be done.
func carryOutNothing(ctx context.Context, c *job, p call.Plan, res *call.Result) error {
	if len(p.Nothing) == 0 {
		ch := c.newChange("", p)
		res.Outcome = "dry_run"
		res.Lines = append(res.Lines, change.DryRun(ch, p)...)
		recordPlan(ctx, c, p, "dry_run", "")
		return nil
	}
	if err := closeUndone(ctx, c, p.Undoes); err != nil {
		return err
	}
	res.Lines = append(res.Lines, p.Nothing)
	recordPlan(ctx, c, p, "nothing", p.Nothing.String())
	return nil
}

// carryOutLater plans what is planned when its turn comes, on what is stored then, and carries it out.
func carryOutLater(ctx context.Context, c *job, p call.Plan, res *call.Result) error {
	return c.settled(ctx, func() error {
		c.tellTime(c.Call)
		c.need(ctx, c.Call, change.LaterNeeds(c.Call, p.Undoes))
		full, err := change.PlanLater(c.Call, p.Undoes)
		switch {
		case refusal.PlansAgain(err):
			return err
		case errors.Is(err, refusal.ErrNothing):
			text, _ := call.ForPeople(c.Invocation, err)
			res.Lines = append(res.Lines, text)
			recordPlan(ctx, c, p, "nothing", text.String())
			return nil
		case err != nil:
			noteRefused(ctx, c, err, change.RefusedUndo(c.Call, p.Undoes))
			err = refusal.NotBegun(err)
			recordPlan(ctx, c, p, "failed", err.Error())
			return fmt.Errorf("%w: %w", refusal.ErrRecorded, err)
		}
		full.Part = p.Part
		did, err := c.carryOutPlans(ctx, []call.Plan{full})
		if err == nil {
			res.Outcome = cmp.Or(map[string]string{"nothing": res.Outcome}[did.Outcome], did.Outcome)
			res.Changes, res.Lines = append(res.Changes, did.Changes...), append(res.Lines, did.Lines...)
		}
		return err
	})
}

// resume finishes a change that this delivery began before, and says what became of one that is finished.
func (c *job) resume(ctx context.Context, ch record.Change, res *call.Result) error {
	switch ch.State {
	case record.StateBegun:
		held, now, err := c.take(ctx, ch)
		if err != nil {
			return err
		}
		defer c.claim.Release(ctx)
		if now.State != record.StateBegun {
			return c.resume(ctx, now, res)
		}
		return c.carryOutChange(held, now, false, res)
	case record.StateFailed, record.StateHalf:
		return change.NotDone(ch, nil)
	case record.StateUndone:
		return change.AlreadyUndone(ch)
	case record.StateUnreadable:
		return refusal.Unreadable(ch.ID)
	}
	addChange(res, ch)
	return nil
}

// closeUndone ends the change that an undo found nothing left of.
func closeUndone(ctx context.Context, c *job, id string) error {
	if id == "" || c.Policy.ChangesNow() != config.ChangesOn {
		return nil
	}
	all := change.Affected(c.Call, record.Change{Undoes: id, Actor: c.Actor, At: c.Now})
	var events []record.Event
	for i := range all {
		if all[i].ID == id {
			all[i].Gone = true
			events = c.changeEvents(all[i])
		}
	}
	if _, err := c.draft.Save(ctx, record.Saves{Changes: change.Scheduled(all...), Events: events}); err != nil {
		return refusal.Away(err)
	}
	c.changed(c.Account.Name, events, all)
	return nil
}

// carryOutChange carries out what is left of a change, under its claim, and says so.
func (c *job) carryOutChange(ctx context.Context, ch record.Change, fresh bool, res *call.Result) error {
	ch, err := c.carryOutSteps(ctx, ch, fresh)
	if err == nil {
		addChange(res, ch)
	}
	return err
}

// addChange puts a finished change into the result.
func addChange(res *call.Result, ch record.Change) {
	res.Outcome = "done"
	res.Changes = append(res.Changes, ch)
	line := text.Lead(ch.Does, ": ", words.Accepted(ch))
	if ch.Undoes == "" {
		line.Addf(". `%v`, by %v", cmp.Or(ch.Extends, ch.ID), words.MadeBy(ch))
		if !ch.Until.IsZero() {
			line.Addf(", until %v%v", ch.Until, words.Renewal(ch))
		}
	}
	res.Lines = append(res.Lines, line)
}

// newChange is the plan as it will be stored.
func (c *job) newChange(id string, p call.Plan) record.Change {
	ch := record.Change{
		ID: id, Account: c.Account.Name, Line: p.Line, Effect: p.Effect(), Does: p.Does, When: p.When, Actor: c.Actor,
		Reason: c.Line.Keys["reason"],
		At:     c.serviceNow(), Until: p.Until, State: record.StateBegun, Steps: p.Steps, Role: max(c.Cmd.Role, p.Role),
		Undoes: p.Undoes, Extends: p.Extends,
		Renew: p.Renews, AttackID: c.AttackID(),
	}
	if q := c.Granted; q != nil {
		ch.Request, ch.Overridden = q.ID, q.State == record.RequestOverridden
		if ch.Overridden {
			ch.Renew = time.Time{} // it is for a short time
		} else {
			ch.Approved = q.Decided
		}
	}
	for i := range ch.Steps {
		switch s := &ch.Steps[i]; {
		case s.Kind == record.AddEntry && s.Entry.Reason == "":
			s.Entry.Reason = words.Reason(ch)
		case s.Kind == record.CreateRule && s.Rule.Type == apiclient.RuleRegex && ch.Undoes == "": // no other kind of rule takes a comment
			s.Rule.Comment = words.Reason(ch)
		}
	}
	return ch
}

// observed is what the call's attack looked like when the poller last saw it, to be kept with a change; nil if that
// isn't known, which keeps no one from changing something.
func observed(ctx context.Context, c *job) *record.Observation {
	if c.Attack == nil {
		return nil
	}
	c.need(ctx, c.Call, call.Needs{Observation: c.Attack.ID})
	o, err := c.Facts.Observation.Get()
	switch {
	case err == nil && o.Ok:
		return &o.Value
	case err != nil, c.Attack.Attack.ID == "":
		return nil
	}
	return &record.Observation{At: c.Now, Attack: c.Attack.Brief()} // it isn't stored: the service has just listed it
}

// partlyDone is the error when only some changes were done. It says what was done beside what was not.
func partlyDone(all int, res call.Result, failed []error) error {
	if all == 1 {
		return failed[0]
	}
	var words text.Text
	for _, l := range res.Lines {
		words.Addf("%v.\n", l)
	}
	for _, err := range failed {
		refused, ok := errors.AsType[*refusal.Refusal](err)
		if !ok {
			return errors.Join(failed...)
		}
		words.Addf("%v.\n", refused.Text)
	}
	if len(failed) < all {
		words = text.Lead("Failed in part. ", words)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Text: words, Titled: true, Cause: errors.Join(failed...)}
}
