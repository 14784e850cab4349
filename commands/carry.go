package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// errUnknown marks a failure after which nobody knows whether the step took place.
var errUnknown = errors.New("outcome unknown")

// finish carries out what is left of a change. Every step is written down before it is sent, and all of them at the end,
// so whoever finds it after a crash looks before sending again.
func (r *Runner) finish(ctx context.Context, c *Call, ch Change, p Plan, res *Result) error {
	ch.Fault = "" // of an attempt before: it is no news while it is gone on with
	if i := slices.IndexFunc(c.Known, func(old Change) bool { return old.ID == ch.Undoes }); i >= 0 {
		ch.Late = c.Known[i].Late // it may have become late since the undo was begun
	}
	var fault error
	for i := range ch.Steps {
		if ch.Steps[i].Done {
			continue
		}
		if fault = r.carryOut(ctx, c, &ch, i); fault != nil {
			break
		}
		ch.Steps[i].Done = true
	}
	sent := slices.ContainsFunc(ch.Steps, func(s Step) bool { return s.Sent })
	if errors.Is(fault, ErrAway) && !sent {
		return fault
	}
	r.settle(&ch, fault)
	r.tie(ctx, c, fault, ch.refused())
	r.noteLocked(ctx, c, ch, fault)
	r.actingClaims(ctx, c, ch) // before the change is kept: a redelivery finishes both
	entry := changeEntry(c, ch)
	n, err := r.keep(ctx, c, ch, &entry)
	switch {
	case errors.Is(err, ErrLost):
		if sent { // else it is planned anew: meanwhile somebody else may have done it
			c.lost = append(c.lost, ch)
		}
		return unsaved(ch, err)
	case err != nil:
		fault = unsaved(ch, err)
		r.record(ctx, entry)
	default:
		entry.N = n
		r.print(entry)
	}
	if fault != nil {
		return notDone(ch, fault)
	}
	r.untie(ctx, c, ch)
	res.add(ch)
	res.Lines = append(res.Lines, p.Notes...)
	return nil
}

// unsaved is the answer for a change that was sent and could not be written down: the same delivery, or the same line, finds it begun.
func unsaved(ch Change, err error) error {
	return &Refusal{Kind: ErrAway, Cause: fmt.Errorf("%w: %w", errRecorded, err), Text: Say(Bold(ch.Does),
		": sent to the service, but wafbot's memory (Redis) can't be reached, so what came of it isn't written down. Ask the same again: wafbot looks before it sends")}
}

// notDone is the answer for a change that failed, was done in part only, or of which nobody knows.
func notDone(ch Change, fault error) error {
	if errors.Is(fault, errRecorded) {
		return fault
	}
	cause := fmt.Errorf("%w: %w", errRecorded, ErrTold)
	if fault != nil {
		cause = fmt.Errorf("%w: %w", cause, fault)
	}
	return &Refusal{Kind: ErrService, Cause: cause, Text: ch.Failure()}
}

// Failure says that the change failed, was done in part only, or that nobody knows, and why; nothing of one that did not fail, or is gone on with.
func (c Change) Failure() Text {
	switch {
	case c.Fault == "":
		return nil
	case c.State == StateHalf && c.Amends() == "":
		return Say(Bold("Only partly done: "+c.Does), ": ", c.Fault, ". ", Code("undo "+c.ID), " takes back what was done")
	case c.State == StateHalf:
		return Say(Bold("Only partly done: "+c.Does), ": ", c.Fault, ". Ask the same again: what is done already is left as it is")
	case c.State == StateBegun:
		return Say(Bold("Perhaps done: "+c.Does), ": ", c.Fault, ". Ask the same again: wafbot looks before it sends")
	}
	return Say(Bold("NOT done: "+c.Does), ": ", c.Fault)
}

// settle writes the outcome into the change. One of unknown outcome stays begun, so that whoever meets it looks.
func (r *Runner) settle(ch *Change, fault error) {
	if fault == nil {
		ch.State, ch.Fault = StateDone, ""
		return
	}
	text, ref := ForPeople(Invocation{ID: ch.ID, At: ch.At}, forPeople(fault))
	r.cfg.Log.Error("carry out change", "account", ch.Account, "change", ch.ID, "reference", ref, "err", fault)
	ch.Fault = text.String()
	switch {
	case errors.Is(fault, errUnknown):
		ch.State = StateBegun
	case ch.partly():
		ch.State = StateHalf
	default:
		ch.State = StateFailed
	}
}

// keep saves a finished change together with those that it takes back or prolongs and its audit entry, all in one step: nobody must find it
// half written. It gives the entry's number.
func (r *Runner) keep(ctx context.Context, c *Call, ch Change, entry *AuditEntry) (n int64, err error) {
	all := []Change{ch}
	if ch.State == StateDone {
		all = append(all, c.amended(ch)...)
	}
	if n, err = c.save(ctx, entry, all...); err != nil {
		return 0, err
	}
	for _, saved := range all {
		if saved.ID == ch.ID || saved.ID == ch.Undoes {
			r.cfg.Changed(ctx, saved)
		}
	}
	return n, nil
}

// amended are the changes that ch takes back or prolongs, as they are afterwards. With one that is taken back go those that prolonged it:
// one that is found begun later must not bring it back.
func (c *Call) amended(ch Change) []Change {
	var all []Change
	for _, old := range c.Known {
		switch {
		case ch.Undoes != "" && (old.ID == ch.Undoes || old.Extends == ch.Undoes) && old.State != StateFailed:
			old.State, old.EndedBy, old.EndedAt = StateUndone, &ch.Actor, ch.At
		case ch.Extends != "" && old.ID == ch.Extends:
			old.prolonged(ch.Until)
		default:
			continue
		}
		all = append(all, old)
	}
	return all
}

// save outlives the request: what was sent must be written down even when the caller has gone.
func (c *Call) save(ctx context.Context, entry *AuditEntry, all ...Change) (n int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return c.lock.SaveChanges(ctx, entry, all...)
}

// carryOut does one step: write it down, then send it; a step that was perhaps sent before is looked for first.
func (r *Runner) carryOut(ctx context.Context, c *Call, ch *Change, i int) error {
	step := &ch.Steps[i]
	if step.Sent {
		return r.lookAgain(ctx, c, ch, step)
	}
	if step.Kind == CreateRule {
		equal, err := equalRules(ctx, c.Account, *step.Rule)
		if err != nil {
			return err
		}
		step.Equal = equal
	}
	step.Sent = true
	if _, err := c.lock.SaveChanges(ctx, nil, *ch); err != nil {
		step.Sent = false
		return Away(err)
	}
	err := send(ctx, c.Account, step)
	if errors.Is(err, errUnknown) {
		r.cfg.Log.Warn("outcome of a change is unknown, reading back", "account", ch.Account, "change", ch.ID, "err", err)
		return r.lookAgain(ctx, c, ch, step)
	}
	return err
}

// send makes the step's one call. An error that wraps errUnknown leaves open whether it took place.
func send(ctx context.Context, a *Account, step *Step) error {
	err := call(ctx, a, step)
	if e, ok := asAPI(err); ok && e.OutcomeUnknown() {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

func call(ctx context.Context, a *Account, step *Step) error {
	switch step.Kind {
	case AddEntry:
		made, err := a.API.AddIPRule(ctx, *step.Entry, step.Force)
		step.ID = made.ID
		return err
	case DeleteEntry:
		return deleteEntry(ctx, a, *step.Entry)
	case CreateRule:
		made, err := a.API.CreateRule(ctx, *step.Rule)
		step.ID = made.ID
		return err
	case DeleteRule:
		return gone(a.API.DeleteRule(ctx, step.Rule.ID))
	}
	return fmt.Errorf("step %q is unknown", step.Kind)
}

// deleteEntry takes an entry off and looks whether it went: the answer to a delete does not tell.
func deleteEntry(ctx context.Context, a *Account, e apiclient.IPRule) error {
	if err := gone(a.API.DeleteIPRules(ctx, e.ID)); err != nil {
		return err
	}
	for left, err := range a.API.IPRules(ctx, apiclient.IPRuleFilter{List: e.List}) {
		if err != nil {
			return fmt.Errorf("%w: look whether entry %d went: %w", errUnknown, e.ID, err)
		}
		if unchanged(left, e) {
			return &Refusal{Kind: ErrService, Text: Say("the service accepted it and still lists the entry: look with ", Code("lists"))}
		}
	}
	return nil
}

// gone takes "not found" as deleted: somebody was faster.
func gone(err error) error {
	if apiclient.KindOf(err) == apiclient.NotFound {
		return nil
	}
	return err
}
