package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// carryOutSteps carries out what is left of a change, under its claim. Every step is stored before it is sent, and all
// of them at the end, so that after a crash it is verified before it is sent again.
func (c *job) carryOutSteps(ctx context.Context, ch record.Change, fresh bool) (record.Change, error) {
	ch.Fault = "" // of an attempt before: no event while it is resumed
	if i := record.IndexChange(c.Changes, ch.Undoes); i >= 0 {
		ch.Late = c.Changes[i].Late // it may have become late since the undo was begun
	}
	fault := c.doSteps(ctx, &ch, fresh)
	sent := slices.ContainsFunc(ch.Steps, wasSent)
	if errors.Is(fault, refusal.ErrAway) && !sent {
		return ch, fault
	}
	c.settle(ctx, &ch, fault)
	noteRefused(ctx, c, fault, ch.Refused())
	noteRulesLocked(ctx, c, ch, fault)
	c.acknowledgeByActing(ctx, ch) // before the change is kept: a redelivery finishes both
	ch.CheckAt = change.CheckAt(ch)
	err := c.saveOutcome(ctx, ch)
	switch {
	case errors.Is(err, store.ErrLost):
		if sent { // else it is planned again: another may have done it meanwhile
			c.lost = append(c.lost, ch)
		}
		return ch, change.Unsaved(ch, err)
	case err != nil:
		return ch, change.NotDone(ch, change.Unsaved(ch, err))
	case fault != nil:
		return ch, change.NotDone(ch, fault)
	}
	noteGranted(ctx, c, ch)
	return ch, nil
}

// doSteps does the steps that aren't done yet, until some fail. The first of a fresh change are stored as sent, and not
// sent yet.
func (c *job) doSteps(ctx context.Context, ch *record.Change, fresh bool) error {
	c.old = tooOld(*ch, c.Now)
	if sent := slices.ContainsFunc(ch.Steps, wasSent); !sent && c.old {
		return notDoneInTime(*ch)
	}
	for i := 0; i < len(ch.Steps); {
		if s := &ch.Steps[i]; s.Done || overwritten(ch.Steps, *s) {
			s.Done = true
			i++
			continue
		}
		steps, do := together(ch.Steps[i:]), c.doStep
		if fresh {
			do, fresh = c.sendSteps, false
		}
		if err := do(ctx, ch, steps); err != nil {
			return err
		}
		i += len(steps)
	}
	return nil
}

func wasSent(s record.Step) bool { return s.Sent }

// together are the first of the steps that are sent, or verified, at the same time: all deletions of entries in one
// request, all additions in one each; of others one alone.
func together(steps []record.Step) []record.Step {
	n := min(1, len(steps))
	for n < len(steps) && steps[n].Entry != nil && steps[n].Kind == steps[0].Kind && steps[n].Sent == steps[0].Sent &&
		!steps[n].Done {
		n++
	}
	return steps[:n]
}

// overwritten reports whether the entry or rule that a step should delete became what another step made. The service
// may keep its number if only some sources of an entry were overwritten, or if a mode rule was written again. Then
// nothing is left to delete.
func overwritten(all []record.Step, s record.Step) bool {
	return slices.ContainsFunc(all, func(made record.Step) bool {
		switch {
		case !made.Done:
			return false
		case s.Kind == record.DeleteEntry:
			return made.Kind == record.AddEntry && made.ID == s.Entry.ID
		}
		return s.Kind == record.DeleteRule && made.Kind == record.CreateRule && made.ID == s.Rule.ID
	})
}

// settle writes the outcome into the change. One of unknown outcome stays begun, so that it is verified when it is met.
func (c *job) settle(ctx context.Context, ch *record.Change, fault error) {
	if fault == nil {
		ch.State, ch.Fault = record.StateDone, ""
		return
	}
	text, _ := call.ForPeople(c.Invocation, refusal.FromService(fault))
	c.Log.ErrorContext(ctx, "carry out change", "account", ch.Account, "change", ch.ID, "err", fault)
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

// acknowledgeByActing makes the person who changed something for an attack its owner, if it has none. That it can't be
// stored fails no change.
func (c *job) acknowledgeByActing(ctx context.Context, ch record.Change) {
	if ch.State != record.StateDone || ch.AttackID == "" || ch.Undoes != "" || ch.Actor.Via == record.ViaClock {
		return
	}
	c.store(ctx, "acknowledge by acting", ch.AttackID, func(ctx context.Context) error {
		k := c.basis.Triage
		if k.Owner != nil {
			return nil
		}
		k.Owner = &record.Owner{ID: ch.Actor.ID, Team: ch.Actor.Team, Name: ch.Actor.Name, Since: ch.At, By: ch.Actor}
		_, err := c.draft.Save(ctx, record.Saves{Triage: map[string]record.Triage{ch.AttackID: k}})
		if err == nil {
			c.basis.Triage = k
		}
		return err
	})
}

// saveOutcome saves a finished change together with those that it undoes or prolongs and its audit entry, all in one
// step: it must not be found half written. An entry that can't be saved with it is recorded alone, unless somebody else
// may have the claim by now.
func (c *job) saveOutcome(ctx context.Context, ch record.Change) error {
	all, entry := []record.Change{ch}, change.AuditEntry(c.Call, ch)
	if ch.State == record.StateDone {
		all = append(all, change.Affected(c.Call, ch)...)
	}
	events := c.changeEvents(ch)
	n, err := c.save(ctx, &entry, events, all...)
	switch {
	case err == nil:
		c.changed(c.Account.Name, events, all)
		entry.N = n
		c.print(entry)
	case !errors.Is(err, store.ErrLost):
		c.record(ctx, entry)
	}
	return err
}

// changed shows the outcome of changes at once, if this replica owns the account.
func (x *executor) changed(account string, events []record.Event, all []record.Change) {
	x.Changed(account)
	if slices.ContainsFunc(all, func(ch record.Change) bool { return ch.AttackID != "" }) {
		x.Notifier.Redraw(account)
	}
	x.Notifier.Notify(account, events)
}

// save outlives the request: what was sent must be written down even when the caller has gone.
func (c *job) save(ctx context.Context, entry *record.AuditEntry, events []record.Event, all ...record.Change) (n int64,
	err error) {
	ctx, cancel := outlive(ctx)
	defer cancel()
	return c.claim.Save(ctx, record.Saves{Changes: change.Scheduled(all...), Events: events, Entry: entry})
}

// doStep does one step, or several at the same time: it writes them down, then sends them. Those that were perhaps sent
// before are verified first.
func (c *job) doStep(ctx context.Context, ch *record.Change, steps []record.Step) error {
	if steps[0].Sent {
		return c.verifySteps(ctx, ch, steps)
	}
	if err := c.markSent(ctx, steps); err != nil {
		return err
	}
	if _, err := c.claim.Save(ctx, record.Saves{Changes: change.Scheduled(*ch)}); err != nil {
		markUnsent(steps)
		return refusal.Away(err)
	}
	return c.sendSteps(ctx, ch, steps)
}

// sendsAtOnce is how many requests of a change are on their way at the same time.
const sendsAtOnce = 8

// sendSteps sends steps that go together, unless changes were switched off until now. That one fails keeps no other
// from being sent.
func (c *job) sendSteps(ctx context.Context, ch *record.Change, steps []record.Step) error {
	if err := c.switchedOff(); err != nil {
		markUnsent(steps)
		return err
	}
	requests := [][]record.Step{steps}
	if steps[0].Kind == record.AddEntry {
		requests = slices.Collect(slices.Chunk(steps, 1))
	}
	return worst(sideBySide(requests, sendsAtOnce, func(steps []record.Step) error {
		err := c.send(ctx, c.Account.Name, steps)
		if !errors.Is(err, change.ErrOutcomeUnknown) {
			return c.done(err, steps)
		}
		c.Log.WarnContext(ctx, "outcome of a change is unknown, reading back", "account", ch.Account, "change", ch.ID,
			"err", err)
		return c.verifySteps(ctx, ch, steps)
	}))
}

// verifySteps verifies each of some steps that were perhaps sent. That one failed says nothing about the others.
func (c *job) verifySteps(ctx context.Context, ch *record.Change, steps []record.Step) error {
	return worst(sideBySide(slices.Collect(slices.Chunk(steps, 1)), sendsAtOnce, func(one []record.Step) error {
		return c.done(c.verifyOrResend(ctx, ch, &one[0]), one)
	}))
}

// worst is the fault of several steps: an outcome that isn't known, before what is known to have failed.
func worst(faults []error) error {
	if i := slices.IndexFunc(faults, func(err error) bool { return errors.Is(err, change.ErrOutcomeUnknown) }); i >= 0 {
		return faults[i]
	}
	return cmp.Or(faults...)
}

// knownFor is how old the rules may be that count as those from before a rule is made: an equal one made by hand since
// would be taken for it.
const knownFor = time.Second

// markSent notes that steps are about to be sent, and which rules were equal before.
func (c *job) markSent(ctx context.Context, steps []record.Step) error {
	for i := range steps {
		s := &steps[i]
		if s.Kind == record.CreateRule {
			if c.serviceNow().Sub(c.Facts.Rules.At) > knownFor {
				c.Facts.Rules = call.Listing[apiclient.Rule]{}
			}
			c.need(ctx, c.Call, call.Needs{Rules: call.AllRules})
			before, err := c.Facts.Rules.Get()
			if err != nil {
				return err
			}
			s.Equal = efficacy.EqualRules(before, *s.Rule)
		}
		s.Sent, s.SentAt = true, c.serviceNow()
	}
	return nil
}

// markUnsent notes that steps were not sent that were about to be.
func markUnsent(steps []record.Step) {
	for i := range steps {
		steps[i].Sent, steps[i].SentAt = false, time.Time{}
	}
}

// done notes that steps were done, unless they failed.
func (c *job) done(err error, steps []record.Step) error {
	for i := range steps {
		if err == nil {
			steps[i].Done, steps[i].SentAt = true, c.serviceNow()
		}
	}
	return err
}

// send makes the one call of steps that go together. An error that wraps change.ErrOutcomeUnknown leaves open whether
// it took place. The client pauses and tries again, so that only from then on the time runs in which it may still show.
func (cfg *Config) send(ctx context.Context, account string, steps []record.Step) error {
	err := perform(ctx, cfg.Services[account], steps)
	if e, ok := errors.AsType[*apiclient.Error](err); !ok || !e.OutcomeUnknown {
		return err
	}
	for i := range steps {
		steps[i].SentAt = cfg.now(account)
	}
	return fmt.Errorf("%w: %w", change.ErrOutcomeUnknown, err)
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
