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

// Requests remembers what waits for a second person.
type Approvals interface {
	// Requests are the account's, the newest first, also those decided lately.
	Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error)
}

// waits reports whether the plans do anything for which a second person is needed who was not asked yet.
func needsRequest(c *call.Call, plans []call.Plan) bool {
	return len(c.Needs) > 0 && c.Granted == nil && !onlyRenews(c, plans) && c.Policy.Changes == policy.ChangesOn && slices.ContainsFunc(plans, func(p call.Plan) bool {
		return len(p.Nothing) == 0 && !slices.ContainsFunc(c.Changes, func(ch record.Change) bool { return change.HasEffect(c, ch, p) })
	})
}

// renews reports whether wafbot only prolongs, as far as it was said to, what a second person has approved.
func onlyRenews(c *call.Call, plans []call.Plan) bool {
	return c.Actor.Via == record.ViaClock && !slices.ContainsFunc(plans, func(p call.Plan) bool {
		return !slices.ContainsFunc(c.Changes, func(ch record.Change) bool {
			return ch.ID == p.Extends && ch.Approved != nil && !p.Until.IsZero() && !p.Until.After(ch.Renew)
		})
	})
}

// request writes down what waits for a second person. Nothing is sent. The same that waits already is met.
func (r *Runner) askApproval(ctx context.Context, c *job, plans []call.Plan) (call.Result, error) {
	if c.Actor.Via == record.ViaClock {
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrNeedsApproval, Text: text.New(approval.Reasons(c.Call), ": that needs approval, which wafbot doesn't ask for by itself. Nothing was done")}
	}
	q := approval.NewRequest(c.Call, plans)
	all, err := r.cfg.Approvals.Requests(ctx, c.Account.Name)
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
			entry.After = append(entry.After, describe.StepDescribe(s))
		}
	}
	if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	return waitingResult(c.Call, q), nil
}

// askedBefore is the answer to a delivery that came before, and was written down as a request.
func (r *Runner) askedBefore(ctx context.Context, c *job) (res call.Result, ok bool) {
	all, err := r.cfg.Approvals.Requests(ctx, c.Account.Name)
	if err != nil {
		return call.Result{}, false
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == record.RequestID(c.Account.Name, c.ID) })
	if i < 0 {
		return call.Result{}, false
	}
	return waitingResult(c.Call, all[i]), true
}

// requested is the answer of a request.
func waitingResult(c *call.Call, q record.ApprovalRequest) call.Result {
	return call.Result{Outcome: string(record.RequestWaiting), Lines: approval.WaitingLines(c, q), AttackID: q.AttackID, Account: q.Account, Data: q}
}

// saveRequest outlives the caller: what was decided must be written down.
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
		r.print(*entry)
	}
	r.cfg.Notifier.Notify(q.Account, []record.Event{event})
	return nil
}
