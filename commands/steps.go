package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// carryOutSteps carries out what is left of a change. Every step is stored before it is sent, and all of them at the end,
// so that after a crash it is verified before it is sent again.
func (x *executor) carryOutSteps(ctx context.Context, c *job, ch record.Change, p call.Plan, res *call.Result) error {
	ch.Fault = "" // of an attempt before: no event while it is resumed
	if i := record.IndexChange(c.Changes, ch.Undoes); i >= 0 {
		ch.Late = c.Changes[i].Late // it may have become late since the undo was begun
	}
	fault := x.doSteps(ctx, c, &ch)
	sent := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Sent })
	if errors.Is(fault, refusal.ErrAway) && !sent {
		return fault
	}
	x.settle(&ch, fault)
	x.noteRefused(ctx, c, fault, ch.Refused())
	x.noteRulesLocked(ctx, c, ch, fault)
	x.acknowledgeByActing(ctx, c, ch) // before the change is kept: a redelivery finishes both
	err := x.saveOutcome(ctx, c, ch)
	switch {
	case errors.Is(err, refusal.ErrLost):
		if sent { // else it is planned again: another may have done it meanwhile
			c.lost = append(c.lost, ch)
		}
		return change.Unsaved(ch, err)
	case err != nil:
		return change.NotDone(ch, change.Unsaved(ch, err))
	case fault != nil:
		return change.NotDone(ch, fault)
	}
	x.noteGranted(ctx, c, ch)
	addChange(res, ch)
	res.Lines = append(res.Lines, p.Notes...)
	return nil
}

// doSteps does the steps that aren't done yet, until one fails.
func (x *executor) doSteps(ctx context.Context, c *job, ch *record.Change) error {
	for i := 0; i < len(ch.Steps); {
		steps := together(ch.Steps[i:])
		i += len(steps)
		if steps[0].Done = steps[0].Done || overwritten(ch.Steps, steps[0]); steps[0].Done {
			continue
		}
		if err := x.doStep(ctx, c, ch, steps); err != nil {
			return err
		}
	}
	return nil
}

// together are the first of the steps that are sent in one request: all deletions of entries, of others one alone.
func together(steps []record.Step) []record.Step {
	n := 0
	for n < len(steps) && steps[n].Kind == record.DeleteEntry && !steps[n].Sent {
		n++
	}
	return steps[:max(n, 1)]
}

// overwritten reports whether the entry that a step is to delete became what another step added: a service may keep the number of one of which only
// some sources were overwritten, and then nothing of it is left to delete.
func overwritten(all []record.Step, s record.Step) bool {
	return s.Kind == record.DeleteEntry && slices.ContainsFunc(all, func(made record.Step) bool {
		return made.Kind == record.AddEntry && made.Done && made.ID == s.Entry.ID
	})
}

// settle writes the outcome into the change. One of unknown outcome stays begun, so that it is verified when it is met.
func (x *executor) settle(ch *record.Change, fault error) {
	if fault == nil {
		ch.State, ch.Fault = record.StateDone, ""
		return
	}
	text, ref := call.ForPeople(call.Invocation{ID: ch.ID, At: ch.At}, refusal.FromService(fault))
	x.cfg.Log.Error("carry out change", "account", ch.Account, "change", ch.ID, "reference", ref, "err", fault)
	ch.Fault = text.String()
	switch {
	case errors.Is(fault, change.ErrOutcomeUnknown):
		ch.State = record.StateBegun
	case ch.Partly():
		ch.State = record.StateHalf
	default:
		ch.State = record.StateFailed
	}
}

// acknowledgeByActing makes the person who changed something for an attack its owner, if it has none. That it can't be stored fails no change.
func (x *executor) acknowledgeByActing(ctx context.Context, c *job, ch record.Change) {
	if ch.State != record.StateDone || ch.AttackID == "" || ch.Undoes != "" || ch.Actor.Via == record.ViaClock {
		return
	}
	ctx, cancel := outlive(ctx)
	defer cancel()
	x.loader.load(ctx, c.Loaded, call.Need{Account: ch.Account, Fact: call.FactTriage, Arg: ch.AttackID})
	k, err := c.Given().Triage(ch.AttackID)
	if err == nil && k.Owner == nil {
		k.Owner = &record.Owner{ID: ch.Actor.ID, Name: ch.Actor.Name, Since: ch.At, By: ch.Actor}
		if err = c.lock.SaveTriage(ctx, map[string]record.Triage{ch.AttackID: k}); err == nil {
			c.Know(call.FactTriage, ch.AttackID, k)
		}
	}
	if err != nil {
		x.cfg.Log.Error("acknowledge by acting", "account", ch.Account, "attack", ch.AttackID, "err", err)
	}
}

// saveOutcome saves a finished change together with those that it undoes or prolongs and its audit entry, all in one step: it must not be found
// half written. An entry that can't be saved with it is recorded alone, unless another one holds the lock by now.
func (x *executor) saveOutcome(ctx context.Context, c *job, ch record.Change) error {
	all, entry := []record.Change{ch}, change.AuditEntry(c.Call, ch)
	if ch.State == record.StateDone {
		all = append(all, change.Affected(c.Call, ch)...)
	}
	events := changeEvents(ch, c.Account.Channel)
	n, err := c.save(ctx, &entry, events, all...)
	switch {
	case err == nil:
		x.changed(c.Account.Name, events, all)
		entry.N = n
		x.recorder.print(entry)
	case !errors.Is(err, refusal.ErrLost):
		x.recorder.record(ctx, entry)
	}
	return err
}

// changed has this replica, if it owns the account, show at once what came of changes.
func (x *executor) changed(account string, events []record.Event, all []record.Change) {
	x.cfg.Watch.Changed(account)
	if slices.ContainsFunc(all, func(ch record.Change) bool { return ch.AttackID != "" }) {
		x.cfg.Notifier.Redraw(account)
	}
	x.cfg.Notifier.Notify(account, events)
}

// save outlives the request: what was sent must be written down even when the caller has gone.
func (c *job) save(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64, err error) {
	ctx, cancel := outlive(ctx)
	defer cancel()
	return c.lock.SaveChanges(ctx, entry, events, all...)
}

// doStep does one step, or several that go in one request: write them down, then send them; a step that was perhaps sent before is looked for first.
func (x *executor) doStep(ctx context.Context, c *job, ch *record.Change, steps []record.Step) error {
	step := &steps[0]
	if step.Sent {
		return x.done(x.verifyOrResend(ctx, c, ch, step), steps)
	}
	if step.Kind == record.CreateRule {
		equal, err := x.equalRules(ctx, ch.Account, *step.Rule)
		if err != nil {
			return err
		}
		step.Equal = equal
	}
	for i := range steps {
		steps[i].Sent, steps[i].SentAt = true, x.cfg.Now()
	}
	if _, err := c.lock.SaveChanges(ctx, nil, nil, *ch); err != nil {
		for i := range steps {
			steps[i].Sent, steps[i].SentAt = false, time.Time{}
		}
		return refusal.Away(err)
	}
	err := send(ctx, x.cfg.Services[c.Account.Name], steps)
	if !errors.Is(err, change.ErrOutcomeUnknown) {
		return x.done(err, steps)
	}
	x.cfg.Log.Warn("outcome of a change is unknown, reading back", "account", ch.Account, "change", ch.ID, "err", err)
	for i := range steps {
		if err := x.done(x.verifyOrResend(ctx, c, ch, &steps[i]), steps[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// done notes that steps were done, unless they failed.
func (x *executor) done(err error, steps []record.Step) error {
	for i := range steps {
		if err == nil {
			steps[i].Done, steps[i].SentAt = true, x.cfg.Now()
		}
	}
	return err
}

// send makes the one call of steps that go together. An error that wraps change.ErrOutcomeUnknown leaves open whether it took place.
func send(ctx context.Context, s Service, steps []record.Step) error {
	err := perform(ctx, s, steps)
	if e, ok := errors.AsType[*apiclient.Error](err); ok && e.OutcomeUnknown() {
		return fmt.Errorf("%w: %w", change.ErrOutcomeUnknown, err)
	}
	return err
}

func perform(ctx context.Context, s Service, steps []record.Step) error {
	step := &steps[0]
	switch step.Kind {
	case record.AddEntry:
		made, err := s.AddIPRule(ctx, *step.Entry, step.Force)
		step.ID = made.ID
		return err
	case record.DeleteEntry:
		var ids []int64
		for _, d := range steps {
			ids = append(ids, d.Entry.ID)
		}
		return change.IgnoreNotFound(s.DeleteIPRules(ctx, ids...)) // the answer does not tell whether it went: that is verified later
	case record.CreateRule:
		made, err := s.CreateRule(ctx, *step.Rule)
		step.ID, step.Rule.ConditionID = made.ID, made.ConditionID
		return err
	case record.DeleteRule:
		return change.IgnoreNotFound(s.DeleteRule(ctx, step.Rule.ID))
	}
	return fmt.Errorf("step %q is unknown", step.Kind)
}
