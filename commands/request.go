package commands

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// needsRequest reports whether the plans do anything that needs approval which was not asked for yet.
func needsRequest(c *call.Call, plans []call.Plan) bool {
	return len(c.Needs) > 0 && c.Granted == nil && !onlyRenews(c, plans) && c.Policy.Changes == policy.ChangesOn && slices.ContainsFunc(plans, func(p call.Plan) bool {
		return len(p.Nothing) == 0 && !slices.ContainsFunc(c.Changes, func(ch record.Change) bool { return change.HasEffect(c, ch, p) })
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

// askApproval stores an approval request for the plans. Nothing is sent. One for the same effect that waits already stands for it.
func (r *Runner) askApproval(ctx context.Context, c *job, plans []call.Plan) (call.Result, error) {
	if c.Actor.Via == record.ViaClock {
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrNeedsApproval, Text: text.New(approval.Reasons(c.Call), ": that needs approval, which wafbot doesn't ask for by itself. Nothing was done")}
	}
	q := approval.NewRequest(c.Call, plans)
	all, err := r.loader.approvals(ctx, c)
	if err != nil {
		return call.Result{}, refusal.Away(err)
	}
	if i := slices.IndexFunc(all, func(have record.ApprovalRequest) bool {
		return have.ID == q.ID || have.Waits(c.Now) && call.Effect(have.Line) == call.Effect(q.Line) && have.Does == q.Does
	}); i >= 0 {
		return waitingResult(c.Call, all[i]), nil
	}
	entry := approval.AuditEntry(c.Call, q, string(record.RequestWaiting))
	for _, need := range q.Needs {
		entry.Why = approval.JoinWords(entry.Why, need.Why)
	}
	for _, p := range plans {
		for _, s := range p.Steps {
			entry.After = append(entry.After, describe.Step(s))
		}
	}
	if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	return waitingResult(c.Call, q), nil
}

// approvals are the account's approval requests as they were when the lock was taken.
func (l *loader) approvals(ctx context.Context, c *job) ([]record.ApprovalRequest, error) {
	l.load(ctx, c.Loaded, []call.Need{{Account: c.Account.Name, Fact: call.FactApprovals}})
	return c.Given().Approvals()
}

// askedBefore is the answer to a delivery that came before, and was stored as a request.
func (r *Runner) askedBefore(ctx context.Context, c *job) (res call.Result, ok bool) {
	all, err := r.loader.approvals(ctx, c)
	if err != nil {
		return call.Result{}, false
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == record.RequestID(c.Account.Name, c.ID) })
	if i < 0 {
		return call.Result{}, false
	}
	return waitingResult(c.Call, all[i]), true
}

// waitingResult is the answer of a request.
func waitingResult(c *call.Call, q record.ApprovalRequest) call.Result {
	return call.Result{Outcome: string(record.RequestWaiting), Lines: approval.WaitingLines(c, q), AttackID: q.AttackID, Account: q.Account, Data: q}
}

// saveRequest outlives the caller: what was decided must be stored.
func (r *Runner) saveRequest(ctx context.Context, c *job, entry *record.AuditEntry, q *record.ApprovalRequest) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	q.Revision++
	event := approvalEvent(*q, c.Account.Channel)
	n, err := c.lock.SaveRequest(ctx, entry, *q, event)
	if err != nil {
		q.Revision--
		return err
	}
	if entry != nil {
		entry.N = n
		r.recorder.print(*entry)
	}
	r.cfg.Notifier.Notify(q.Account, []record.Event{event})
	return nil
}
