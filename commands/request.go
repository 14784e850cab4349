package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// waiting is the outcome of what waits for approval.
const waiting = string(record.RequestWaiting)

// needsRequest reports whether the plans do anything that needs approval which was not asked for yet.
func needsRequest(c *call.Call, plans []call.Plan) bool {
	return len(c.Needs) > 0 && c.Granted == nil && !onlyRenews(c, plans) && c.Policy.ChangesNow() == config.ChangesOn &&
		slices.ContainsFunc(plans, func(p call.Plan) bool {
			return len(p.Nothing) == 0 && !slices.ContainsFunc(c.Changes,
				func(ch record.Change) bool { return change.HasEffect(c, ch, p) })
		})
}

// onlyRenews reports whether wafbot only prolongs what was approved, as far as that was approved.
func onlyRenews(c *call.Call, plans []call.Plan) bool {
	return c.Actor.Via == record.ViaClock && !slices.ContainsFunc(plans, func(p call.Plan) bool {
		return !slices.ContainsFunc(c.Changes, func(ch record.Change) bool {
			return ch.ID == p.Extends && ch.Approved != nil && !p.Until.IsZero() && !p.Until.After(ch.Renew)
		})
	})
}

// askApproval stores an approval request for the plans. Nothing is sent. One for the same effect that waits already
// stands for it.
func askApproval(ctx context.Context, c *job, plans []call.Plan) (res call.Result, err error) {
	if c.Actor.Via == record.ViaClock {
		return res, &refusal.Refusal{Kind: refusal.ErrNeedsApproval,
			Text: text.New(approval.Reasons(c.Needs), ": that needs approval, which wafbot doesn't ask for by itself")}
	}
	q := approval.NewRequest(c.Call, plans)
	all, err := c.approvals(ctx)
	if err != nil {
		return res, refusal.Away(err)
	}
	for _, have := range all {
		same := call.Effect(have.Line) == call.Effect(q.Line) && have.Does == q.Does
		if have.ID == q.ID || have.Waits(c.Now) && same {
			return requestResult(c, waiting, have), nil
		}
	}
	entry := approval.AuditEntry(c.Call, q, waiting)
	entry.Why = approval.Reasons(q.Needs)
	for _, p := range plans {
		entry.After = append(entry.After, stepsText(p)...)
	}
	if err := saveRequest(ctx, c, &entry, &q); err != nil {
		return res, refusal.Away(err)
	}
	return requestResult(c, waiting, q), nil
}

// approvals are the account's approval requests, read once for each draft.
func (c *job) approvals(ctx context.Context) ([]record.ApprovalRequest, error) {
	c.need(ctx, c.Call, call.Needs{Approvals: true})
	return c.Facts.Approvals.Get()
}

// tooLate refuses a delivery that comes too late, unless it came before and was stored as a request.
func (c *job) tooLate(ctx context.Context) (res call.Result, err error) {
	all, _ := c.approvals(ctx)
	for _, q := range all {
		if q.ID == record.RequestID(c.Account.Name, c.ID) {
			return requestResult(c, waiting, q), nil
		}
	}
	return res, approval.TooLate(c.Call)
}

// requestResult is the answer about a request.
func requestResult(c *job, outcome string, q record.ApprovalRequest) call.Result {
	return call.Result{Outcome: outcome, Lines: approval.WaitingLines(c.Call, q), AttackID: q.AttackID, Account: q.Account,
		Data: q}
}

// saveDecision stores what the actor decided about a request.
func saveDecision(ctx context.Context, c *job, q *record.ApprovalRequest, as record.RequestState, why string) error {
	approval.Decide(c.Call, q, as, why)
	entry := approval.AuditEntry(c.Call, *q, string(as))
	if err := saveRequest(ctx, c, &entry, q); err != nil {
		return refusal.Away(err)
	}
	return nil
}

// saveRequest outlives the caller: what was decided must be stored.
func saveRequest(ctx context.Context, c *job, entry *record.AuditEntry, q *record.ApprovalRequest) error {
	ctx, cancel := outlive(ctx)
	defer cancel()
	q.Revision++
	q.CheckAt = approval.DueAt(*q)
	event := c.event(fmt.Sprintf("%s-%d", q.ID, q.Revision), record.ApprovalAsked, q.At,
		record.ApprovalChanged{Request: q.ID})
	event.Order = q.Revision
	n, err := c.draft.Save(ctx, record.Saves{Request: q, Events: []record.Event{event}, Entry: entry})
	if err != nil {
		q.Revision--
		return err
	}
	if entry != nil {
		entry.N = n
		c.print(*entry)
	}
	c.Notifier.Notify(q.Account, []record.Event{event})
	return nil
}

// decide settles a request.
func decide(ctx context.Context, c *job) (res call.Result, err error) {
	c.load(ctx, c.Call, whileCallLasts, c.Cmd.Needs)
	d, err := c.Cmd.Decide(c.Call)
	switch {
	case err != nil || c.Ask:
		return res, err // when it is carried out it is planned again, and refused if its premise changed
	case d.As == record.RequestRejected:
		if !d.Begun {
			err = saveDecision(ctx, c, &d.Request, d.As, d.Why)
		}
		return requestResult(c, "done", d.Request), err
	}
	asked, err := asAsker(c, d.Request, d.Line)
	if err != nil {
		return res, err
	}
	return carryOutRequest(ctx, c, d, asked)
}

// closeRequest ends a request whose basis no longer holds. Nothing is done.
func closeRequest(ctx context.Context, c *job, q record.ApprovalRequest, why text.Text) (res call.Result, err error) {
	if err := saveDecision(ctx, c, &q, record.RequestClosed, why.String()); err != nil {
		return res, err
	}
	return res, &refusal.Refusal{Kind: refusal.ErrGuarded, Cause: refusal.ErrRecorded,
		Text: text.Newf("what was asked for is no longer what it was: %v. The request is closed; %v can ask again",
			why, text.Field(q.Asker.Name))}
}

// asAsker is a request's line as its asker's call. It works on what was loaded for the decision.
func asAsker(c *job, q record.ApprovalRequest, line record.Line) (*job, error) {
	asked, err := c.lookUp(call.Invocation{Line: line, Actor: q.Asker, ID: q.ID, At: c.At, Account: q.Account,
		Anyway: true, Begun: c.Begun, Within: c.RequestID()})
	if err != nil {
		return nil, err
	}
	asked.basis, asked.draft, asked.Now, asked.Granted = c.basis, c.draft, c.Now, &q
	asked.Accounts = []*config.Account{c.Account}
	asked.On(c.Account)
	asked.Have(c.Facts)
	asked.Changes, asked.Context = c.Changes, c.Context
	return asked, nil
}

// planRequest plans a request's line again. One of approval.Close says why the request can't be carried out any more.
func planRequest(ctx context.Context, c *job, q record.ApprovalRequest, asked *job) (plans []call.Plan, err error) {
	asked.RightsOn = c.rights(ctx, q.Asker, asked.Accounts)
	asked.On(asked.Account)
	needs := max(asked.Cmd.Role, q.Premise.Role) // an approver may need more
	if asked.Unsure || asked.Role < needs && asked.Could >= needs {
		return nil, refusal.Denied("Slack doesn't say just now who asked for it, and without that nothing is changed. Try again in a moment")
	}
	if asked.Role < needs {
		return nil, approval.Close(text.New(text.Field(q.Asker.Name), " may not do that any more"))
	}
	err = findAttack(ctx, asked)
	if err == nil {
		err = checkArguments(asked)
	}
	if err != nil {
		return nil, approval.CloseUnlessTransient(refusal.FromService(err))
	}
	plans, err = asked.planOn(ctx)
	if err != nil {
		return nil, approval.CloseUnlessTransient(refusal.NotBegun(err))
	}
	return plans, approval.PremiseHolds(q, asked.Call, approval.Unbegun(c.Call, asked.Call, plans))
}

// carryOutRequest plans a request again as its asker's, stores the decision, and carries it out. It resumes one that
// was cut short.
func carryOutRequest(ctx context.Context, c *job, d call.Decision, asked *job) (res call.Result, err error) {
	q := d.Request
	begun, whole := asked.begun(c.Account.Name, c.Changes)
	if q.Outcome != "" {
		res = requestResult(c, q.Outcome, q)
		res.Changes = begun
		return res, nil
	}
	var plans []call.Plan
	why, closed := text.New("it could not be carried out in time"), approval.Late(c.Call)
	if !whole && !closed {
		plans, err = planRequest(ctx, c, q, asked)
		why, closed = approval.Closes(err)
	}
	switch {
	case whole, closed && len(begun) > 0: // what wasn't begun is not done
		res, err = asked.resumeAll(ctx, begun, whole)
		return settleRequest(ctx, c, q, asked, res, err)
	case closed:
		return closeRequest(ctx, c, q, why)
	case err != nil:
		return res, err
	}
	if !d.Begun {
		if d.As == record.RequestOverridden {
			q.Does = approval.DoesText(plans) // for a shorter time than what was asked for
		}
		if err := saveDecision(ctx, c, &q, d.As, d.Why); err != nil {
			return res, err
		}
	}
	asked.Granted = &q
	res, err = asked.carryOutPlans(ctx, plans)
	return settleRequest(ctx, c, q, asked, res, err)
}

// settleRequest stores the outcome of a decided request, unless somebody else decided it at the same time and did so.
func settleRequest(ctx context.Context, c *job, q record.ApprovalRequest, asked *job, res call.Result,
	err error) (call.Result, error) {
	c.lost = append(c.lost, asked.lost...)
	switch {
	case refusal.PlansAgain(err), errors.Is(err, refusal.ErrAway):
		return res, err // it is resumed
	case err != nil:
		text, _ := call.ForPeople(c.Invocation, err)
		q.Outcome, q.Fault = "failed", text.String()
	default:
		q.Outcome = res.Outcome
	}
	c.store(ctx, "store the outcome of a request", "", func(ctx context.Context) error { // else it is checked again in a while
		all, err := c.approvals(ctx)
		if err != nil {
			return err
		}
		for _, have := range all {
			if have.ID == q.ID && have.Outcome != "" {
				q = have
				return nil
			}
		}
		return saveRequest(ctx, c, nil, &q)
	})
	res.Lines = append([]text.Text{words.Approval(q, c.Now)}, res.Lines...)
	res.Data = q
	return res, err
}
