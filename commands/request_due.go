package commands

import (
	"cmp"
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// tendRequests looks at the account's requests whose time has come: their askers may do it alone, or nobody has answered, or what was decided
// must have been carried out by now.
func (r *Runner) checkRequests(ctx context.Context, account string) {
	i := slices.IndexFunc(r.cfg.Accounts, func(a *call.Account) bool { return a.Name == account })
	if i < 0 {
		return
	}
	all, err := r.cfg.Approvals.Requests(ctx, account)
	now := r.cfg.Now()
	due := func(q record.ApprovalRequest) bool {
		return !approval.DueAt(q).IsZero() && !now.Before(approval.DueAt(q))
	}
	if err != nil || !slices.ContainsFunc(all, due) {
		return // nothing is, or it is looked at again within a second
	}
	held, lock, err := r.cfg.Ledger.Lock(ctx, account)
	if err != nil {
		return
	}
	defer lock.Unlock()
	c := &job{lock: lock, Call: &call.Call{Setup: r.setup, Loaded: call.NewFacts(), Invocation: call.Invocation{Actor: clock}, Now: now, Account: r.cfg.Accounts[i]}}
	if all, err = r.cfg.Approvals.Requests(held, account); err == nil {
		c.Changes, err = r.cfg.Ledger.Changes(held, account)
	}
	for _, q := range all {
		if err == nil && due(q) {
			err = r.settleDueRequest(held, c, q)
		}
	}
	if err != nil && held.Err() == nil {
		r.cfg.Log.Error("look at requests whose time has come", "account", account, "err", err)
	}
}

// lookAtRequest does what is due for one request.
func (r *Runner) settleDueRequest(ctx context.Context, c *job, q record.ApprovalRequest) error {
	var entry *record.AuditEntry
	outcome := func(as record.RequestState, why string) {
		q.State, q.DecidedAt, q.Why = as, c.Now, why
		e := approval.AuditEntry(c.Call, q, string(as))
		e.Line = q.Line.String()
		entry = &e
	}
	switch {
	case q.InHand():
		made := slices.DeleteFunc(slices.Clone(c.Changes), func(ch record.Change) bool { return ch.Request != q.ID })
		if len(made) == 0 {
			outcome(record.RequestClosed, "it could not be carried out in time")
			break
		}
		q.Outcome = "done"
		if cmd, err := r.lookUp(&q.Line); err != nil || len(made) < cmd.Parts {
			q.Outcome, q.Fault = "failed", "perhaps only partly done: status shows what is in force. Ask again for the rest"
		}
		if i := slices.IndexFunc(made, func(ch record.Change) bool { return ch.State != record.StateDone && ch.State != record.StateUndone }); i >= 0 {
			q.Outcome, q.Fault = "failed", "NOT done, or only partly: "+cmp.Or(made[i].Fault, "nobody knows what came of it, look with status")
		}
	case q.Waits(c.Now):
		q.OverrideOpen = true
	default:
		outcome(record.RequestExpired, "no answer")
	}
	return r.saveRequest(ctx, c, entry, &q)
}
