package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// DueAt is when wafbot has to look at the request by itself: when the asker may do it alone, when its time is over, or when it must have been
// carried out; zero for never.
func ApprovalRequestDueAt(r record.ApprovalRequest) time.Time {
	switch {
	case r.InHand():
		return r.DecidedAt.Add(stale)
	case r.State != record.RequestWaiting:
		return time.Time{}
	case !r.AloneAt.IsZero() && !r.Opened:
		return r.AloneAt
	}
	return r.Until
}

// Requests remembers what waits for a second person.
type Requests interface {
	// Requests are the account's, the newest first, also those decided lately.
	Requests(ctx context.Context, account string) ([]record.ApprovalRequest, error)
}

// waits reports whether the plans do anything for which a second person is needed who was not asked yet.
func (c *Call) waits(plans []Plan) bool {
	return len(c.needs) > 0 && c.granted == nil && !c.renews(plans) && c.Policy.Changes == ChangesOn && slices.ContainsFunc(plans, func(p Plan) bool {
		return len(p.Nothing) == 0 && !slices.ContainsFunc(c.Known, func(ch record.Change) bool { return c.sameNow(ch, p) })
	})
}

// renews reports whether wafbot only prolongs, as far as it was said to, what a second person has approved.
func (c *Call) renews(plans []Plan) bool {
	return c.Actor.Via == record.ViaClock && !slices.ContainsFunc(plans, func(p Plan) bool {
		return !slices.ContainsFunc(c.Known, func(ch record.Change) bool {
			return ch.ID == p.Extends && ch.Approved != nil && !p.Until.IsZero() && !p.Until.After(ch.Renew)
		})
	})
}

// request writes down what waits for a second person. Nothing is sent. The same that waits already is met.
func (r *Runner) request(ctx context.Context, c *job, plans []Plan) (Result, error) {
	if c.Actor.Via == record.ViaClock {
		return Result{}, &refusal.Refusal{Kind: refusal.ErrNeedsApproval, Text: text.New(c.whySecond(), ": that needs approval, which wafbot doesn't ask for by itself. Nothing was done")}
	}
	q := c.newRequest(plans)
	all, err := r.cfg.Requests.Requests(ctx, c.Account.Name)
	if err != nil {
		return Result{}, Away(err)
	}
	if i := slices.IndexFunc(all, func(have record.ApprovalRequest) bool {
		return have.ID == q.ID || have.Waits(c.Now) && effect(have.Line) == effect(q.Line) && have.Does == q.Does
	}); i >= 0 {
		return c.requested(all[i]), nil
	}
	entry := c.requestEntry(q, string(record.RequestWaiting))
	for _, need := range q.Needs {
		entry.Why = joinWords(entry.Why, need.Why)
	}
	for _, p := range plans {
		for _, s := range p.Steps {
			entry.After = append(entry.After, stepDescribe(s))
		}
	}
	if err := r.saveRequest(ctx, c, &entry, &q); err != nil {
		return Result{}, Away(err)
	}
	return c.requested(q), nil
}

// askedBefore is the answer to a delivery that came before, and was written down as a request.
func (r *Runner) askedBefore(ctx context.Context, c *job) (res Result, ok bool) {
	all, err := r.cfg.Requests.Requests(ctx, c.Account.Name)
	if err != nil {
		return Result{}, false
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == record.RequestID(c.Account.Name, c.ID) })
	if i < 0 {
		return Result{}, false
	}
	return c.requested(all[i]), true
}

// requested is the answer of a request.
func (c *Call) requested(q record.ApprovalRequest) Result {
	return Result{Outcome: string(record.RequestWaiting), Lines: c.waitingLines(q), AttackID: q.AttackID, Account: q.Account, Data: q}
}

// newRequest is what is written down of a change that needs a second person.
func (c *Call) newRequest(plans []Plan) record.ApprovalRequest {
	now := c.Now.Truncate(time.Second).UTC() // Redis wakes at whole seconds
	q := record.ApprovalRequest{
		ID: record.RequestID(c.Account.Name, c.ID), Account: c.Account.Name, Line: c.Line, Needs: c.needs, Role: c.Cmd.Role, Asker: c.Actor, Reason: c.Line.Keys["reason"],
		At: now, Until: now.Add(c.Policy.approvalFor()), Premise: premiseOf(plans), State: record.RequestWaiting,
		Does: doesOf(plans),
	}
	if len(plans) == 1 {
		q.Line = plans[0].Line
	}
	if c.Attack != nil {
		q.AttackID = c.Attack.ID
	}
	for _, p := range plans {
		if len(p.Nothing) > 0 {
			continue
		}
		q.Role = max(q.Role, p.Role)
		for _, s := range p.Steps {
			approvalRequestReaches(&q, c.Account.reach(s))
		}
		if p.Until.Before(p.Renews) {
			q.Reach = append(q.Reach, "it is extended while it keeps trying, for "+text.HumanDuration(p.Renews.Sub(now))+" at most")
		}
		for _, n := range p.Notes {
			q.Reach = append(q.Reach, n.String())
		}
		for _, w := range p.Warnings {
			q.Warnings = append(q.Warnings, w.Text.String())
		}
	}
	if after := c.Policy.Alone.After; after > 0 && after < c.Policy.approvalFor() && approvalRequestNeverAlone(q) == "" {
		q.AloneAt = now.Add(after)
	}
	return q
}

// reaches adds whom it hits, unless that is said already.
func approvalRequestReaches(r *record.ApprovalRequest, whom string) {
	said := func(n record.ApprovalReason) bool {
		return n.What == SecondBroad && strings.Contains(n.Why, neverVisitors) && strings.Contains(whom, neverVisitors)
	}
	if whom != "" && !slices.Contains(r.Reach, whom) && !slices.ContainsFunc(r.Needs, said) {
		r.Reach = append(r.Reach, whom)
	}
}

// saveRequest outlives the caller: what was decided must be written down.
func (r *Runner) saveRequest(ctx context.Context, c *job, entry *record.AuditEntry, q *record.ApprovalRequest) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	q.Revision++
	n, err := c.lock.SaveRequest(ctx, entry, *q)
	if err != nil {
		q.Revision--
		return err
	}
	if entry != nil {
		entry.N = n
		r.print(*entry)
	}
	r.cfg.Asked(ctx, *q)
	return nil
}

// requestEntry is the audit entry of what the actor did about a request.
func (c *Call) requestEntry(q record.ApprovalRequest, outcome string) record.AuditEntry {
	return record.AuditEntry{At: c.Now, Account: q.Account, Actor: c.Actor, Line: c.Line.String(), Outcome: outcome, Request: q.ID, Attack: q.AttackID, Why: q.Why}
}
