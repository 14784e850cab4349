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
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// executor carries out plans: it sends their steps, verifies them, and stores what became of them. It works under the account's lock.
type executor struct {
	cfg      *Config
	loader   *loader
	recorder *recorder
}

// carryOutPlans carries out the plans one after another, each as a change of its own.
func (x *executor) carryOutPlans(ctx context.Context, c *job, plans []call.Plan) (call.Result, error) {
	res := call.Result{Outcome: "nothing", Account: c.Account.Name, AttackID: c.AttackID()}
	var failed []error
	for i, p := range plans {
		id := approval.ChangeID(c.Call, p, i)
		if err := x.carryOutNext(ctx, c, id, p, &res); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return res, partlyDone(plans, res, failed)
	}
	return res, nil
}

// carryOutPlan carries out one plan, unless the same effect is there already: then it says whose it is.
func (x *executor) carryOutPlan(ctx context.Context, c *job, id string, p call.Plan, res *call.Result) error {
	if i := record.IndexChange(c.Changes, id); i >= 0 {
		return x.resume(ctx, c, c.Changes[i], res)
	}
	if i := slices.IndexFunc(c.Changes, func(ch record.Change) bool { return change.HasEffect(c.Call, ch, p) }); i >= 0 {
		if c.Changes[i].State == record.StateBegun {
			return x.resume(ctx, c, c.Changes[i], res)
		}
		p.Nothing = change.DoneAlready(c.Changes[i], p)
		p.Steps = nil
	}
	if len(p.Nothing) > 0 {
		res.Lines = append(res.Lines, text.New(p.Nothing, ". Nothing was sent"))
		x.recorder.recordPlan(ctx, c.Call, p, "nothing", p.Nothing.String())
		return x.closeUndone(ctx, c, p.Undoes)
	}
	ch := x.newChange(c, id, p)
	ch.Observed = x.observed(ctx, c.Call)
	if x.cfg.Policy.Changes != policy.ChangesOn {
		res.Outcome = "dry_run"
		res.Lines = append(res.Lines, change.DryRun(ch, p)...)
		x.recorder.recordPlan(ctx, c.Call, p, "dry_run", "")
		return nil
	}
	return x.carryOutSteps(ctx, c, ch, p, res)
}

// resume finishes a change that was begun, by this delivery or another with the same effect.
func (x *executor) resume(ctx context.Context, c *job, ch record.Change, res *call.Result) error {
	switch ch.State {
	case record.StateBegun:
		return x.carryOutSteps(ctx, c, ch, call.Plan{}, res)
	case record.StateFailed, record.StateHalf:
		return change.NotDone(ch, nil)
	case record.StateUndone:
		return change.AlreadyUndone(ch)
	}
	addChange(res, ch)
	return nil
}

// closeUndone ends the change that an undo found nothing left of.
func (x *executor) closeUndone(ctx context.Context, c *job, id string) error {
	if id == "" || x.cfg.Policy.Changes != policy.ChangesOn {
		return nil
	}
	all := change.Affected(c.Call, record.Change{Undoes: id, Actor: c.Actor, At: c.Now})
	var events []record.Event
	for i := range all {
		if all[i].ID == id {
			all[i].Gone = true
			events = changeEvents(all[i], c.Account.Channel)
		}
	}
	if _, err := c.save(ctx, nil, events, all...); err != nil {
		return refusal.Away(err)
	}
	x.changed(c.Account.Name, events, all)
	return nil
}

// addChange puts a finished change into the result.
func addChange(res *call.Result, ch record.Change) {
	res.Outcome = "done"
	res.Changes = append(res.Changes, ch)
	line := text.New(text.Bold(ch.Does), ": ", describe.Accepted(ch))
	if ch.Undoes == "" {
		line = text.New(line, ". ", text.Code(cmp.Or(ch.Extends, ch.ID)), ", by ", describe.MadeBy(ch))
		if !ch.Until.IsZero() {
			line = text.New(line, ", until ", ch.Until, describe.Renewal(ch))
		}
	}
	res.Lines = append(res.Lines, line)
}

// newChange is the plan as it will be stored.
func (x *executor) newChange(c *job, id string, p call.Plan) record.Change {
	ch := record.Change{
		ID: id, Account: c.Account.Name, Line: p.Line, Effect: p.Effect(), Does: p.Does, When: p.When, Actor: c.Actor, Reason: c.Line.Keys["reason"],
		At: x.cfg.Now(), Until: p.Until, State: record.StateBegun, Steps: p.Steps, Role: max(c.Cmd.Role, p.Role), Undoes: p.Undoes, Extends: p.Extends,
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
			s.Entry.Reason = describe.Reason(ch)
		case s.Kind == record.CreateRule && s.Rule.Type == apiclient.RuleRegex && ch.Undoes == "": // no other kind of rule takes a comment
			s.Rule.Comment = describe.Reason(ch)
		}
	}
	return ch
}

// observed is what the call's attack looked like when the poller last saw it, to be kept with a change; nil if that isn't known, which keeps no
// one from changing something.
func (x *executor) observed(ctx context.Context, c *call.Call) *record.Observation {
	if c.Attack == nil {
		return nil
	}
	x.loader.load(ctx, c.Loaded, call.Need{Account: c.Account.Name, Fact: call.FactObservation, Arg: c.Attack.ID})
	o, ok, err := c.Given().Observation(c.Attack.ID)
	switch {
	case err == nil && ok:
		return &o
	case err != nil, c.Attack.Attack.ID == "":
		return nil
	}
	return &record.Observation{At: c.Now, Attack: c.Attack.Brief()} // it isn't stored: the service has just listed it
}

// partlyDone is the error for plans of which not all were done: what was done is said beside what was not.
func partlyDone(plans []call.Plan, res call.Result, failed []error) error {
	if len(plans) == 1 {
		return failed[0]
	}
	var words text.Text
	for _, l := range res.Lines {
		words = text.New(words, l, ".\n")
	}
	for _, err := range failed {
		refused, ok := errors.AsType[*refusal.Refusal](err)
		if !ok {
			return errors.Join(failed...)
		}
		words = text.New(words, refused.Text, ".\n")
	}
	if len(failed) < len(plans) {
		words = text.New(text.Bold("Half done. "), words)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Text: words, Cause: errors.Join(failed...)}
}

// carryOutNext carries out one plan when its turn has come.
func (x *executor) carryOutNext(ctx context.Context, c *job, id string, p call.Plan, res *call.Result) error {
	if p.Later == nil || record.IndexChange(c.Changes, id) >= 0 {
		return x.carryOutPlan(ctx, c, id, p, res)
	}
	var err error
	c.Loaded = call.NewFacts() // what the plans before did
	x.loader.load(ctx, c.Loaded, call.Need{Account: c.Account.Name, Fact: call.FactChanges})
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
