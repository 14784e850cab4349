package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// RunDue checks what was made for a time on one account, whenever check says so: it prolongs denials whose source still
// tries, asks about what ends while its attack goes on, and ends what the service doesn't end by itself. One replica at
// a time may do so. It returns when the context ends.
func (r *Runner) RunDue(ctx context.Context, account string, check <-chan struct{}) {
	warned, d := false, dueChecker{runner: r, attempts: &attempts{ofRules: map[string]bool{}}}
	defer d.attempts.running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check:
		}
		d.known = r.cfg.Clocks.Known(account) // before the time is read by which something would end
		now := r.cfg.now(account)
		switch {
		case r.cfg.PolicyOf(r.accounts[account]).ChangesNow() != config.ChangesOn:
			if !warned {
				r.cfg.Log.WarnContext(ctx, "changes are not on: what was made for a time before is not ended", "account", account)
			}
			warned = true
		case !d.attempts.paused(now):
			d.pauseAfter(ctx, account, d.checkDue(ctx, account, now))
		}
		r.checkRequests(ctx, account, d.attempts) // after the changes: what was cut short has an outcome by then, or is being settled
	}
}

// dueChecker decides about changes whose end is near or past, and has the Runner end or prolong them.
type dueChecker struct {
	runner   *Runner
	attempts *attempts
	known    bool // the service has said the time: without it nothing may be removed
}

// pauseAfter has an account's changes wait after an error of the store.
func (d dueChecker) pauseAfter(ctx context.Context, account string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	again := d.retryAt(account)
	d.attempts.pause(again)
	d.runner.cfg.Log.ErrorContext(ctx, "check due changes", "account", account, "err", err, "again", again)
}

// retryAt is when something is attempted again that failed just now.
func (d dueChecker) retryAt(account string) time.Time {
	return d.runner.cfg.now(account).Add(change.RetryEvery)
}

// checkDue checks all changes whose time has come, and begins what is to be done about them. It waits for none of that.
// An error is one of the store.
func (d dueChecker) checkDue(ctx context.Context, account string, now time.Time) error {
	underWay := d.attempts.underWay() // before what is due is read: what ended since then may be due by its old time still
	ids, err := d.runner.cfg.Store.Ledger.DueChanges(ctx, account, now)
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(underWay, id) })
	if err != nil || len(ids) == 0 {
		return err
	}
	var todo []record.Change
	err = d.saveDue(ctx, account, func(known []record.Change) (all []record.DueDecision) {
		todo = nil
		for _, id := range ids {
			ch := record.Change{ID: id, Account: account} // it is no longer stored
			if i := record.IndexChange(known, id); i >= 0 {
				ch = d.withinPolicy(known[i])
			}
			switch l, act := d.decideDue(ch, now); {
			case act && !d.known && ch.Overdue(now): // it is due again in a second
			case act:
				todo = append(todo, ch)
			default:
				all = append(all, l)
			}
		}
		return all
	})
	if err != nil {
		return err
	}
	for _, ch := range todo {
		d.attempts.begin(ch, func() { d.pauseAfter(ctx, account, d.actByClock(ctx, ch, now)) })
	}
	return nil
}

// saveDue writes down what came of checking an account's changes, as they are stored when it is written.
func (d dueChecker) saveDue(ctx context.Context, account string, at func(known []record.Change) []record.DueDecision) error {
	c := d.runner.executor.clockJob(ctx, account)
	var events []record.Event
	err := d.runner.executor.settled(ctx, c, func() error {
		all := at(c.Changes)
		if len(all) == 0 {
			return nil
		}
		events = nil
		for _, l := range all {
			events = append(events, dueEvents(l, c.Account.Channel)...)
		}
		return c.draft.SaveDue(ctx, events, all...)
	})
	if err == nil {
		d.runner.cfg.Notifier.Notify(account, events)
	}
	return err
}

// clockJob is what wafbot does by itself on an account.
func (x *executor) clockJob(ctx context.Context, account string) *job {
	c := &call.Call{Setup: x.cfg.Setup, Invocation: call.Invocation{Actor: clock, Within: cmp.Or(record.RequestOf(ctx), call.NewRequestID())}, Now: x.cfg.now(account)}
	c.On(x.loader.accounts[account])
	return &job{Call: c}
}

// decideDue decides about a change whose time has come; act: it is to be ended, prolonged or verified.
func (d dueChecker) decideDue(ch record.Change, now time.Time) (l record.DueDecision, act bool) {
	l.Change = ch
	over := !now.Before(ch.Until)
	switch {
	case ch.State == record.StateBegun && !now.Before(change.CheckAt(ch)), ch.State != record.StateBegun && change.VerifiesDeletion(ch, now), change.VerifiesMode(ch, now):
		return l, true
	case change.CheckAt(ch).IsZero(): // it was undone, or never made
	case over && ch.MustBeEnded():
		return l, true
	case over:
		l.Ended = true
		l.Ask(d.ongoing(ch)) // where no replica checked between the time to ask and the end
	case now.Before(change.CheckAt(ch)): // it was prolonged
		l.Next = change.CheckAt(ch)
	case change.RenewalLength(ch) > 0 && d.runner.cfg.Watch.StillTrying(ch.Account, efficacy.DeniedAddresses(ch)):
		return l, true
	default:
		l.Next = change.CheckAgainAt(ch, now)
		l.Ask(d.ongoing(ch))
	}
	return l, false
}

// ongoing reports whether what the change was made for goes on, as far as is known.
func (d dueChecker) ongoing(ch record.Change) bool {
	return ch.AttackID != "" && d.runner.cfg.Watch.GoesOn(ch.Account, ch.AttackID) || d.runner.cfg.Watch.StillTrying(ch.Account, efficacy.DeniedAddresses(ch))
}

// actByClock ends or prolongs a change, as a person would by a line. When that fails it says so and checks again later;
// then an error is one of the store.
func (d dueChecker) actByClock(ctx context.Context, ch record.Change, now time.Time) error {
	switch {
	case ch.State == record.StateBegun:
		return d.settle(ctx, ch)
	case change.VerifiesDeletion(ch, now):
		return d.verifyDeletion(ctx, ch)
	case change.VerifiesMode(ch, now):
		return d.verifyMode(ctx, ch)
	}
	over := !now.Before(ch.Until)
	line, what := change.RenewLine(ch), "renew"
	if over {
		line, what = record.Line{Name: "undo", Words: []string{ch.ID}}.With("account", ch.Account), "due"
	}
	// Each attempt is a request of its own: a failed one must not be taken for the answer, also not by a replica that
	// takes over within the second.
	res, err := d.runner.Do(ctx, call.Invocation{ID: fmt.Sprintf("%s %s %s", what, ch.ID, rand.Text()), At: d.runner.cfg.Clocks.Now(), Actor: clock, Line: line})
	if err == nil && (over || res.Outcome == "done") {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d.runner.cfg.Log.ErrorContext(ctx, "end or extend change", "account", ch.Account, "change", ch.ID, "line", line.String(), "err", err)
	}
	return d.saveDue(ctx, ch.Account, func(known []record.Change) []record.DueDecision {
		i := record.IndexChange(known, ch.ID)
		if i < 0 {
			return []record.DueDecision{{Change: ch}}
		}
		ended := d.runner.cfg.now(ch.Account)
		if over {
			return []record.DueDecision{change.NotEnded(known[i], err, ended, d.inPermissionNotice(ctx, known[i]))}
		}
		return []record.DueDecision{d.notRenewed(known[i], err, ended)}
	})
}

// settle finds out what became of a change that was begun and cut short.
func (d dueChecker) settle(ctx context.Context, ch record.Change) error {
	err := d.runner.executor.settleAbandoned(ctx, ch)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if !errors.Is(err, store.ErrClaimed) {
		d.runner.cfg.Log.WarnContext(ctx, "settle a change that was cut short", "account", ch.Account, "change", ch.ID, "err", err)
	}
	return d.saveDue(ctx, ch.Account, func([]record.Change) []record.DueDecision {
		return []record.DueDecision{{Change: ch, Next: d.retryAt(ch.Account)}}
	})
}

// verifyDeletion looks whether the entries went that a change deleted, and says so if they did not.
func (d dueChecker) verifyDeletion(ctx context.Context, ch record.Change) error {
	entries, failed := apiclient.Collect(d.runner.cfg.Services[ch.Account].IPRules(ctx, ""))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.saveDue(ctx, ch.Account, func(known []record.Change) []record.DueDecision {
		i := record.IndexChange(known, ch.ID)
		switch {
		case i < 0:
			return []record.DueDecision{{Change: ch}}
		case failed != nil:
			d.runner.cfg.Log.WarnContext(ctx, "look whether deleted entries went", "account", ch.Account, "change", ch.ID, "err", failed)
			return []record.DueDecision{{Change: known[i], Next: d.retryAt(ch.Account)}}
		}
		return []record.DueDecision{change.VerifyDeletion(known[i], entries)}
	})
}

// verifyMode looks whether a switch left one mode rule, its own. It deletes doubles, as a person would by a line, and
// looks again; of what else is wrong it says so.
func (d dueChecker) verifyMode(ctx context.Context, ch record.Change) error {
	rules, failed := apiclient.Collect(d.runner.cfg.Services[ch.Account].Rules(ctx, 0))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var doubles []apiclient.Rule
	err := d.saveDue(ctx, ch.Account, func(known []record.Change) []record.DueDecision {
		i := record.IndexChange(known, ch.ID)
		if i < 0 {
			return []record.DueDecision{{Change: ch}}
		}
		again := []record.DueDecision{{Change: known[i], Next: d.retryAt(ch.Account)}}
		if failed != nil {
			d.runner.cfg.Log.Warn("look which rule sets the mode", "account", ch.Account, "change", ch.ID, "err", failed)
			return again
		}
		var wrong text.Text
		if doubles, wrong = change.ModeRulesLeft(known[i], known, rules); len(doubles) > 0 {
			return again
		}
		return []record.DueDecision{change.ModeVerified(known[i], wrong)}
	})
	if err != nil || !d.known {
		return err
	}
	for _, r := range doubles {
		line := record.Line{Name: "delete-rule", Words: []string{fmt.Sprint(r.ID)}}.With("reason", "left over beside the mode that "+ch.ID+" set").With("account", ch.Account)
		_, err := d.runner.Do(ctx, call.Invocation{ID: fmt.Sprintf("double %s %s", ch.ID, rand.Text()), At: d.runner.cfg.Clocks.Now(), Actor: clock, Line: line, Anyway: true})
		if err != nil && ctx.Err() == nil {
			d.runner.cfg.Log.Error("delete a double of a mode rule", "account", ch.Account, "change", ch.ID, "rule", r.ID, "err", err)
		}
	}
	return ctx.Err()
}

// withinPolicy is the change as wafbot may prolong it by what the policy says now, which may be less than when it was
// made.
func (d dueChecker) withinPolicy(ch record.Change) record.Change {
	if !ch.Renew.IsZero() {
		ch.Renew = record.Earlier(ch.Renew, change.End(ch.At, d.runner.accounts[ch.Account].Policy.RenewWhileActive))
	}
	return ch
}

// inPermissionNotice reports whether the notice of lost permission names the change among what is due.
func (d dueChecker) inPermissionNotice(ctx context.Context, ch record.Change) bool {
	t, err := d.runner.cfg.Store.Permissions.PermissionLoss(ctx, ch.Account)
	return err == nil && t.GoesOn() && slices.ContainsFunc(change.NeededPermissions(ch.Steps), t.LacksPermission)
}

// notRenewed is what came of trying to prolong a denial whose source still tries. What failed is tried again until its
// end, and people are asked meanwhile, unless only the store was away for a moment; what was refused will be again.
func (d dueChecker) notRenewed(ch record.Change, err error, now time.Time) record.DueDecision {
	ch = d.withinPolicy(ch)
	l, _ := d.decideDue(ch, now)
	if l.Ended || change.CheckAt(ch).IsZero() || now.Before(change.CheckAt(ch)) {
		return l
	}
	l = record.DueDecision{Change: ch, Next: ch.Until}
	needsSecond := errors.Is(err, refusal.ErrNeedsApproval)
	if !needsSecond && !errors.Is(err, refusal.ErrGuarded) && !errors.Is(err, refusal.ErrNothing) {
		l.Next = change.CheckAgainAt(ch, now)
	}
	l.Ask(needsSecond || errors.Is(err, refusal.ErrService))
	return l
}

// checkRequests settles the account's requests whose time has come: their askers may override, or no answer came, or
// what was decided must have been carried out by now.
func (r *Runner) checkRequests(ctx context.Context, account string, changes *attempts) {
	of := r.accounts[account]
	if of == nil {
		return
	}
	all, err := r.cfg.Store.Approvals.Requests(ctx, account)
	now := r.cfg.now(account)
	due := func(q record.ApprovalRequest) bool {
		return !approval.DueAt(q).IsZero() && !now.Before(approval.DueAt(q))
	}
	if err != nil || !slices.ContainsFunc(all, due) {
		return // nothing is, or it is checked again within a second
	}
	c := r.executor.clockJob(ctx, account)
	if err = r.loader.begin(ctx, c, c.AttackID()); err == nil {
		all, err = r.loader.approvals(ctx, c)
	}
	for _, q := range all {
		if err == nil && due(q) {
			err = r.settleDueRequest(ctx, c, q, changes)
		}
	}
	if err != nil && !refusal.PlansAgain(err) && ctx.Err() == nil { // else it is checked again within a second
		r.cfg.Log.ErrorContext(ctx, "check due requests", "account", account, "err", err)
	}
}

// settleDueRequest does what is due for one request. One whose changes are being settled waits for that.
func (r *Runner) settleDueRequest(ctx context.Context, c *job, q record.ApprovalRequest, changes *attempts) error {
	var entry *record.AuditEntry
	outcome := func(as record.RequestState, why string) {
		q.State, q.DecidedAt, q.Why = as, c.Now, why
		e := approval.AuditEntry(c.Call, q, string(as))
		e.Line = q.Line.String()
		entry = &e
	}
	switch {
	case q.InHand():
		made, underWay := slices.DeleteFunc(slices.Clone(c.Changes), func(ch record.Change) bool { return ch.Request != q.ID }), changes.underWay()
		if slices.ContainsFunc(made, func(ch record.Change) bool { return slices.Contains(underWay, ch.ID) }) {
			return nil
		}
		if len(made) == 0 {
			outcome(record.RequestClosed, "it could not be carried out in time")
			break
		}
		q.Outcome = "done"
		if i := slices.IndexFunc(made, func(ch record.Change) bool { return ch.State != record.StateDone && ch.State != record.StateUndone }); i >= 0 {
			q.Outcome, q.Fault = "failed", "NOT done, or only partly: "+cmp.Or(made[i].Fault, "what came of it isn't known, see status")
		}
	case q.Waits(c.Now):
		q.OverrideOpen = true
	default:
		outcome(record.RequestExpired, "no answer")
	}
	return r.saveRequest(ctx, c, entry, &q)
}
