package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// errUnknown marks a failure after which nobody knows whether the step took place.
var errUnknown = errors.New("outcome unknown")

// finish carries out what is left of a change. Every step is written down before it is sent, and all of them at the end,
// so whoever finds it after a crash looks before sending again.
func (r *Runner) finish(ctx context.Context, c *job, ch record.Change, p Plan, res *Result) error {
	ch.Fault = "" // of an attempt before: it is no news while it is gone on with
	if i := slices.IndexFunc(c.Known, func(old record.Change) bool { return old.ID == ch.Undoes }); i >= 0 {
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
	sent := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Sent })
	if errors.Is(fault, refusal.ErrAway) && !sent {
		return fault
	}
	r.settle(&ch, fault)
	r.tie(ctx, c, fault, ch.Refused())
	r.noteLocked(ctx, c, ch, fault)
	r.actingClaims(ctx, c, ch) // before the change is kept: a redelivery finishes both
	entry := changeEntry(c.Call, ch)
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
func unsaved(ch record.Change, err error) error {
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: fmt.Errorf("%w: %w", errRecorded, err), Text: text.New(text.Bold(ch.Does),
		": sent to the service, but wafbot's store (Redis) can't be reached, so what came of it isn't written down. Ask the same again: wafbot looks before it sends")}
}

// notDone is the answer for a change that failed, was done in part only, or of which nobody knows.
func notDone(ch record.Change, fault error) error {
	if errors.Is(fault, errRecorded) {
		return fault
	}
	cause := fmt.Errorf("%w: %w", errRecorded, refusal.ErrTold)
	if fault != nil {
		cause = fmt.Errorf("%w: %w", cause, fault)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Cause: cause, Text: ChangeFailure(ch)}
}

// Failure says that the change failed, was done in part only, or that nobody knows, and why; nothing of one that did not fail, or is gone on with.
func ChangeFailure(c record.Change) text.Text {
	switch {
	case c.Fault == "":
		return nil
	case c.State == record.StateHalf && c.Amends() == "":
		return text.New(text.Bold("Only partly done: "+c.Does), ": ", c.Fault, ". ", text.Code("undo "+c.ID), " takes back what was done")
	case c.State == record.StateHalf:
		return text.New(text.Bold("Only partly done: "+c.Does), ": ", c.Fault, ". Ask the same again: what is done already is left as it is")
	case c.State == record.StateBegun:
		return text.New(text.Bold("Perhaps done: "+c.Does), ": ", c.Fault, ". Ask the same again: wafbot looks before it sends")
	}
	return text.New(text.Bold("NOT done: "+c.Does), ": ", c.Fault)
}

// settle writes the outcome into the change. One of unknown outcome stays begun, so that whoever meets it looks.
func (r *Runner) settle(ch *record.Change, fault error) {
	if fault == nil {
		ch.State, ch.Fault = record.StateDone, ""
		return
	}
	text, ref := ForPeople(Invocation{ID: ch.ID, At: ch.At}, forPeople(fault))
	r.cfg.Log.Error("carry out change", "account", ch.Account, "change", ch.ID, "reference", ref, "err", fault)
	ch.Fault = text.String()
	switch {
	case errors.Is(fault, errUnknown):
		ch.State = record.StateBegun
	case ch.Partly():
		ch.State = record.StateHalf
	default:
		ch.State = record.StateFailed
	}
}

// keep saves a finished change together with those that it takes back or prolongs and its audit entry, all in one step: nobody must find it
// half written. It gives the entry's number.
func (r *Runner) keep(ctx context.Context, c *job, ch record.Change, entry *record.AuditEntry) (n int64, err error) {
	all := []record.Change{ch}
	if ch.State == record.StateDone {
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
func (c *Call) amended(ch record.Change) []record.Change {
	var all []record.Change
	for _, old := range c.Known {
		switch {
		case ch.Undoes != "" && (old.ID == ch.Undoes || old.Extends == ch.Undoes) && old.State != record.StateFailed:
			old.State, old.EndedBy, old.EndedAt = record.StateUndone, &ch.Actor, ch.At
		case ch.Extends != "" && old.ID == ch.Extends:
			old.Prolonged(ch.Until)
		default:
			continue
		}
		all = append(all, old)
	}
	return all
}

// save outlives the request: what was sent must be written down even when the caller has gone.
func (c *job) save(ctx context.Context, entry *record.AuditEntry, all ...record.Change) (n int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return c.lock.SaveChanges(ctx, entry, all...)
}

// carryOut does one step: write it down, then send it; a step that was perhaps sent before is looked for first.
func (r *Runner) carryOut(ctx context.Context, c *job, ch *record.Change, i int) error {
	step := &ch.Steps[i]
	if step.Sent {
		return r.lookAgain(ctx, c, ch, step)
	}
	if step.Kind == record.CreateRule {
		equal, err := equalRules(ctx, r.cfg.Services[c.Account.Name], *step.Rule)
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
	err := send(ctx, r.cfg.Services[c.Account.Name], step)
	if errors.Is(err, errUnknown) {
		r.cfg.Log.Warn("outcome of a change is unknown, reading back", "account", ch.Account, "change", ch.ID, "err", err)
		return r.lookAgain(ctx, c, ch, step)
	}
	return err
}

// send makes the step's one call. An error that wraps errUnknown leaves open whether it took place.
func send(ctx context.Context, s Service, step *record.Step) error {
	err := call(ctx, s, step)
	if e, ok := asAPI(err); ok && e.OutcomeUnknown() {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

func call(ctx context.Context, s Service, step *record.Step) error {
	switch step.Kind {
	case record.AddEntry:
		made, err := s.AddIPRule(ctx, *step.Entry, step.Force)
		step.ID = made.ID
		return err
	case record.DeleteEntry:
		return deleteEntry(ctx, s, *step.Entry)
	case record.CreateRule:
		made, err := s.CreateRule(ctx, *step.Rule)
		step.ID = made.ID
		return err
	case record.DeleteRule:
		return gone(s.DeleteRule(ctx, step.Rule.ID))
	}
	return fmt.Errorf("step %q is unknown", step.Kind)
}

// deleteEntry takes an entry off and looks whether it went: the answer to a delete does not tell.
func deleteEntry(ctx context.Context, s Service, e apiclient.IPRule) error {
	if err := gone(s.DeleteIPRules(ctx, e.ID)); err != nil {
		return err
	}
	for left, err := range s.IPRules(ctx, apiclient.IPRuleFilter{List: e.List}) {
		if err != nil {
			return fmt.Errorf("%w: look whether entry %d went: %w", errUnknown, e.ID, err)
		}
		if unchanged(left, e) {
			return &refusal.Refusal{Kind: refusal.ErrService, Text: text.New("the service accepted it and still lists the entry: look with ", text.Code("lists"))}
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

// asAPI is the service's error in err.
func asAPI(err error) (*apiclient.Error, bool) {
	var e *apiclient.Error
	ok := errors.As(err, &e)
	return e, ok
}
