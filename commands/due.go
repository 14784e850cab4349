package commands

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// RunDue checks an account's temporary changes whenever check says so. It prolongs denials whose source is still
// trying, asks about a change that ends while its attack is ongoing, and ends what the service doesn't end by itself.
// Only one replica at a time may run it. It returns when the context ends.
func (r *Runner) RunDue(ctx context.Context, account string, check <-chan struct{}) {
	warned, d := false, &dueChecker{Runner: r, account: account}
	defer d.running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check:
		}
		known := r.Clocks.Known(account) // before the time is read by which something would end
		now := r.now(account)
		switch {
		case r.PolicyOf(r.accounts[account]).ChangesNow() != config.ChangesOn:
			if !warned {
				r.Log.WarnContext(ctx, "changes are not on: what was made for a time before is not ended", "account", account)
			}
			warned = true
		case now.UnixNano() >= d.again.Load():
			d.pauseAfter(ctx, d.checkDue(ctx, now, known))
		}
		d.checkRequests(ctx) // after the changes: what was cut short has an outcome by then, or is being settled
	}
}

// dueChecker decides about an account's changes whose end is near or past. The Runner ends or prolongs them. No attempt
// waits for another.
type dueChecker struct {
	*Runner
	account  string
	running  sync.WaitGroup
	underWay sync.Map     // changes that are being settled, prolonged, ended or verified, by their ids: whether they are of rules
	again    atomic.Int64 // none begins before, in Unix nanoseconds: the store failed
}

// attempt does something about a change beside the other attempts, if a place is free. If not, the change stays due and
// the next check attempts it. Rules and entries have places of their own, so slow answers about one don't delay the
// other.
func (d *dueChecker) attempt(ctx context.Context, ch record.Change, now time.Time) {
	rules, taken := change.OfRules(ch.Steps), 0
	for _, same := range d.underWay.Range {
		if same == rules {
			taken++
		}
	}
	if taken == sendsAtOnce {
		return
	}
	d.underWay.Store(ch.ID, rules)
	d.running.Go(func() {
		defer d.underWay.Delete(ch.ID)
		delay.Run(d.Log, "a change that is due", func() { d.pauseAfter(ctx, d.actByClock(ctx, ch, now)) })
	})
}

// pauseAfter pauses the account's changes after an error of the store.
func (d *dueChecker) pauseAfter(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	again := d.now(d.account).Add(change.RetryEvery)
	d.again.Store(again.UnixNano())
	d.Log.ErrorContext(ctx, "check due changes", "account", d.account, "err", err, "again", again)
}

// later checks a change again soon.
func (d *dueChecker) later(ch record.Change, _ record.Basis) record.DueDecision {
	return record.DueDecision{Change: ch, Next: d.now(d.account).Add(change.RetryEvery)}
}

// checkDue checks all changes that are due, and begins what they need without waiting for it. known says that the
// service has told the time: without it nothing may be removed. An error is one of the store.
func (d *dueChecker) checkDue(ctx context.Context, now time.Time, known bool) error {
	underWay := maps.Collect(d.underWay.Range) // before what is due is read: what ended since then may be due by its old time still
	ids, err := d.Store.Ledger.DueChanges(ctx, d.account, now)
	ids = slices.DeleteFunc(ids, func(id string) bool { return underWay[id] != nil })
	if err != nil || len(ids) == 0 {
		return err
	}
	todo := map[string]record.Change{}
	err = d.decide(ctx, ids, func(ch record.Change, _ record.Basis) record.DueDecision {
		ch = d.withinPolicy(ch)
		l, act := d.decideDue(ch, now)
		if delete(todo, ch.ID); !act {
			return l
		}
		if known || !ch.Overdue(now) { // else it is due again in a second
			todo[ch.ID] = ch
		}
		return record.DueDecision{}
	})
	if err != nil {
		return err
	}
	for _, id := range ids { // the order in which they are due
		if ch, act := todo[id]; act {
			d.attempt(ctx, ch, now)
		}
	}
	return nil
}

// decision decides about a change by what is stored; zero: nothing yet.
type decision func(ch record.Change, b record.Basis) record.DueDecision

// decide stores what on decides about each of the changes. If somebody else wrote meanwhile, on decides again.
func (d *dueChecker) decide(ctx context.Context, ids []string, on decision) error {
	c := d.clockJob(ctx, d.account)
	var events []record.Event
	err := c.settled(ctx, func() error {
		var all []record.DueDecision
		events = nil
		for _, id := range ids {
			l := record.DueDecision{Change: record.Change{ID: id, Account: d.account}} // it is no longer stored
			if i := record.IndexChange(c.Changes, id); i >= 0 {
				l = on(c.Changes[i], c.basis)
			}
			if l.Change.ID != "" {
				all, events = append(all, l), append(events, c.dueEvents(l)...)
			}
		}
		if len(all) == 0 {
			return nil
		}
		_, err := c.draft.Save(ctx, record.Saves{Due: all, Events: events})
		return err
	})
	if err == nil {
		d.Notifier.Notify(d.account, events)
	}
	return err
}

// clockJob is what wafbot does by itself on an account.
func (x *executor) clockJob(ctx context.Context, account string) *job {
	c := &call.Call{Setup: x.Setup, Invocation: call.Invocation{Actor: clock,
		Within: cmp.Or(record.RequestOf(ctx), call.NewRequestID())}, Now: x.now(account)}
	c.On(x.accounts[account])
	return &job{executor: x, Call: c}
}

// byClock does what a line asks for by wafbot itself. Each attempt is a request of its own: a failed one must not be
// taken for the answer, also not by a replica that takes over within the second.
func (r *Runner) byClock(ctx context.Context, account string, line record.Line) (call.Result, error) {
	return r.Do(ctx, call.Invocation{ID: line.Name + " " + rand.Text(), At: r.Clocks.Now(), Actor: clock,
		Line: line.With("account", account)})
}

// decideDue decides about a change that is due; act: end, prolong or verify it.
func (d *dueChecker) decideDue(ch record.Change, now time.Time) (l record.DueDecision, act bool) {
	l.Change = ch
	over := !now.Before(ch.Until)
	switch {
	case ch.State == record.StateBegun && !now.Before(change.CheckAt(ch)), ch.State != record.StateBegun &&
		change.VerifiesDeletion(ch, now), change.VerifiesMode(ch, now):
		return l, true
	case change.CheckAt(ch).IsZero(): // it was undone, or never made
	case over && ch.MustBeEnded():
		return l, true
	case over:
		l.Ended = true
		l.Ask(d.ongoing(ch)) // where no replica checked between the time to ask and the end
	case now.Before(change.CheckAt(ch)): // it was prolonged
		l.Next = change.CheckAt(ch)
	case change.RenewalLength(ch) > 0 && d.StillTrying(ch.Account, efficacy.DeniedAddresses(ch)):
		return l, true
	default:
		l.Next = change.CheckAgainAt(ch, now)
		l.Ask(d.ongoing(ch))
	}
	return l, false
}

// ongoing reports whether what the change was made for goes on, as far as is known.
func (d *dueChecker) ongoing(ch record.Change) bool {
	return ch.AttackID != "" && d.GoesOn(ch.Account, ch.AttackID) ||
		d.StillTrying(ch.Account, efficacy.DeniedAddresses(ch))
}

// actByClock ends or prolongs a change, as a person would by a line. When that fails it says so and checks again later;
// then an error is one of the store.
func (d *dueChecker) actByClock(ctx context.Context, ch record.Change, now time.Time) error {
	switch {
	case ch.State == record.StateBegun:
		if failed := d.settleAbandoned(ctx, ch); failed != nil {
			return d.verified(ctx, ch, failed, nil)
		}
		return nil
	case change.VerifiesDeletion(ch, now):
		entries, failed := apiclient.Collect(d.Services[d.account].IPRules(ctx, ""))
		return d.verified(ctx, ch, failed, func(ch record.Change, _ record.Basis) record.DueDecision {
			return change.VerifyDeletion(ch, entries)
		})
	case change.VerifiesMode(ch, now):
		return d.verifyMode(ctx, ch)
	}
	line, over := change.RenewLine(ch), !now.Before(ch.Until)
	if over {
		line = record.LineOf("", "undo", ch.ID)
	}
	res, err := d.byClock(ctx, d.account, line)
	if err == nil && (over || res.Outcome == "done") {
		return nil
	}
	if err != nil && ctx.Err() == nil {
		d.Log.ErrorContext(ctx, "end or extend change", "account", d.account, "change", ch.ID, "line", line.String(),
			"err", err)
	}
	return d.decide(ctx, []string{ch.ID}, func(ch record.Change, b record.Basis) record.DueDecision {
		ended := d.now(d.account)
		if over {
			return change.NotEnded(ch, err, ended, b.Loss)
		}
		return d.notRenewed(ch, err, ended)
	})
}

// verified stores what on decides after reading what a change left at the service. If the read failed, it is tried
// again.
func (d *dueChecker) verified(ctx context.Context, ch record.Change, failed error, on decision) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed != nil {
		on = d.later
		if !errors.Is(failed, store.ErrClaimed) {
			d.Log.WarnContext(ctx, "look what a change left", "account", d.account, "change", ch.ID, "err", failed)
		}
	}
	return d.decide(ctx, []string{ch.ID}, on)
}

// verifyMode checks that a switch left one mode rule, its own. It deletes doubles, as a person would by a line, and
// verifies again. It reports anything else that is wrong.
func (d *dueChecker) verifyMode(ctx context.Context, ch record.Change) error {
	rules, failed := apiclient.Collect(d.Services[d.account].Rules(ctx, 0))
	var doubles []apiclient.Rule
	err := d.verified(ctx, ch, failed, func(ch record.Change, b record.Basis) record.DueDecision {
		var wrong text.Text
		if doubles, wrong = change.ModeRulesLeft(ch, b.Changes, rules); len(doubles) > 0 {
			return d.later(ch, b)
		}
		return change.ModeVerified(ch, wrong)
	})
	if err != nil || !d.Clocks.Known(d.account) {
		return err
	}
	for _, r := range doubles {
		line := record.LineOf("", "delete-rule", fmt.Sprint(r.ID)).With("reason",
			"left over beside the mode that "+ch.ID+" set")
		if _, err := d.byClock(ctx, d.account, line); err != nil && ctx.Err() == nil {
			d.Log.Error("delete a double of a mode rule", "account", d.account, "change", ch.ID, "rule", r.ID, "err", err)
		}
	}
	return ctx.Err()
}

// withinPolicy is the change as wafbot may prolong it now. The policy may allow less than when it was made.
func (d *dueChecker) withinPolicy(ch record.Change) record.Change {
	if !ch.Renew.IsZero() {
		ch.Renew = record.Earlier(ch.Renew, change.End(ch.At, d.accounts[ch.Account].Policy.RenewWhileActive))
	}
	return ch
}

// notRenewed decides about a denial that could not be prolonged though its source is still trying. What failed is tried
// again until its end. People are asked meanwhile, unless only the store was away for a moment. A refusal isn't tried
// again.
func (d *dueChecker) notRenewed(ch record.Change, err error, now time.Time) record.DueDecision {
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

// checkRequests settles the account's requests that are due: their askers may override, nobody answered, or what was
// decided must have been carried out by now.
func (d *dueChecker) checkRequests(ctx context.Context) {
	all, err := d.Store.Ledger.Requests(ctx, d.account)
	now := d.now(d.account)
	due := func(q record.ApprovalRequest) bool {
		return !approval.DueAt(q).IsZero() && !now.Before(approval.DueAt(q))
	}
	if err != nil || !slices.ContainsFunc(all, due) {
		return // nothing is, or it is checked again within a second
	}
	c := d.clockJob(ctx, d.account)
	if err = c.beginOn(ctx, ""); err == nil {
		all, err = c.approvals(ctx)
	}
	for _, q := range all {
		if err == nil && due(q) {
			err = d.settleRequest(ctx, c, q)
		}
	}
	if err != nil && !refusal.PlansAgain(err) && ctx.Err() == nil { // else it is checked again within a second
		d.Log.ErrorContext(ctx, "check due requests", "account", d.account, "err", err)
	}
}

// settleRequest does what is due for one request. One whose changes are being settled waits for that.
func (d *dueChecker) settleRequest(ctx context.Context, c *job, q record.ApprovalRequest) error {
	for _, ch := range c.Changes { // only what was decided has some
		if ch.Request != q.ID {
			continue
		}
		if _, underWay := d.underWay.Load(ch.ID); underWay {
			return nil
		}
		q.Outcome = cmp.Or(q.Outcome, "done")
		if q.Fault == "" && ch.State != record.StateDone && ch.State != record.StateUndone {
			q.Outcome, q.Fault = "failed", "NOT done, or only partly: "+cmp.Or(ch.Fault,
				"what came of it isn't known, see status")
		}
	}
	waits := q.Waits(c.Now)
	q.OverrideOpen = q.OverrideOpen || waits
	if waits || q.Outcome != "" {
		return saveRequest(ctx, c, nil, &q)
	}
	as, why := record.RequestExpired, "no answer"
	if q.InHand() {
		as, why = record.RequestClosed, "it could not be carried out in time"
	}
	q.State, q.DecidedAt, q.Why = as, c.Now, why
	e := approval.AuditEntry(c.Call, q, string(as))
	e.Line = q.Line.String()
	return saveRequest(ctx, c, &e, &q)
}
