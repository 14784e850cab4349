package commands

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// record writes an entry to the audit log and to its output. It goes on without Redis: the line still comes out, numbered 0.
func (r *Runner) record(ctx context.Context, e record.AuditEntry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	n, err := r.cfg.Audit.Append(ctx, e)
	if err != nil {
		r.cfg.Log.Error("keep audit entry", "account", e.Account, "err", err)
	}
	e.N = n
	r.print(e)
}

// print writes an entry to the log's output.
func (r *Runner) print(e record.AuditEntry) {
	line, err := json.Marshal(report.Printed{Audit: e})
	if err != nil {
		r.cfg.Log.Error("write audit entry", "account", e.Account, "err", err)
		return
	}
	// One Write a line: concurrent entries must not mix.
	if _, err := r.cfg.AuditOut.Write(append(text.SeenJSON(line), '\n')); err != nil {
		r.cfg.Log.Error("write audit entry", "account", e.Account, "err", err)
	}
}

// recordRefusal puts what was refused or failed before anything was sent into the audit log.
func (r *Runner) recordRefusal(ctx context.Context, c *call.Call, err error) {
	e := record.AuditEntry{At: c.Now, Actor: c.Actor, Line: c.Invocation.Line.String(), Outcome: "failed", Why: "fault, see the log"}
	var refused *refusal.Refusal
	switch {
	case errors.Is(err, refusal.ErrRecorded):
		return
	case c.Ask && ctx.Err() != nil:
		return // a look that was cut short: whoever carries it out looks again
	case c.Ask && errors.Is(err, refusal.ErrAsk) && errors.As(err, &refused) && len(refused.Warnings) == 0:
		return // a look before it is asked for
	case errors.Is(err, refusal.ErrAsk):
		e.Outcome = "asked"
	case errors.Is(err, refusal.ErrNothing):
		e.Outcome = "nothing"
	case errors.Is(err, refusal.ErrDenied), errors.Is(err, refusal.ErrGuarded), errors.Is(err, refusal.ErrNeedsApproval), errors.Is(err, refusal.ErrUsage):
		e.Outcome = "refused"
	}
	if errors.As(err, &refused) {
		e.Why = refused.Error()
	}
	e.Account = r.cfg.Accounts[0].Name
	if c.Account != nil {
		e.Account = c.Account.Name
	}
	if c.Attack != nil {
		e.Attack = c.Attack.ID
	}
	r.record(ctx, e)
}

// recordPlan audits a plan of which nothing was sent.
func (r *Runner) recordPlan(ctx context.Context, c *call.Call, p call.Plan, outcome, why string) {
	e := record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: outcome, Why: why}
	if c.Attack != nil {
		e.Attack = c.Attack.ID
	}
	for _, s := range p.Steps {
		e.After = append(e.After, describe.StepDescribe(s))
	}
	r.record(ctx, e)
}

// recordWrite audits what was written into wafbot's own memory.
func (r *Runner) recordWrite(ctx context.Context, c *call.Call, res call.Result) {
	after := []string{res.Lines[0].String()}
	if attacks, ok := res.Data.([]string); ok && len(attacks) > 0 { // the answer names the first of them
		after = append(after, strings.Join(attacks, " "))
	}
	r.record(ctx, record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: res.Outcome, Attack: res.AttackID, After: after})
}
