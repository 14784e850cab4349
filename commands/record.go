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

// recorder writes the audit log.
type recorder struct{ cfg *Config }

// record writes an entry to the audit log and to its output. It goes on without Redis: the line still comes out, numbered 0.
func (w *recorder) record(ctx context.Context, e record.AuditEntry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	n, err := w.cfg.Audit.Append(ctx, e)
	if err != nil {
		w.cfg.Log.Error("keep audit entry", "account", e.Account, "err", err)
	}
	e.N = n
	w.print(e)
}

// print writes an entry to the log's output.
func (w *recorder) print(e record.AuditEntry) {
	line, err := json.Marshal(report.Printed{Audit: e})
	if err != nil {
		w.cfg.Log.Error("write audit entry", "account", e.Account, "err", err)
		return
	}
	// One Write a line: concurrent entries must not mix.
	if _, err := w.cfg.AuditOut.Write(append(text.SanitizeJSON(line), '\n')); err != nil {
		w.cfg.Log.Error("write audit entry", "account", e.Account, "err", err)
	}
}

// recordRefusal puts what was refused or failed before anything was sent into the audit log, and gives the error back; nil: nothing was.
func (w *recorder) recordRefusal(ctx context.Context, c *call.Call, err error) error {
	if err == nil {
		return nil
	}
	e := record.AuditEntry{At: c.Now, Actor: c.Actor, Line: c.Invocation.Line.String(), Outcome: "failed", Why: "fault, see the log"}
	var refused *refusal.Refusal
	switch {
	case errors.Is(err, refusal.ErrRecorded):
		return err
	case c.Ask && ctx.Err() != nil:
		return err // a preview that was cut short: it is planned again when it is carried out
	case c.Ask && errors.Is(err, refusal.ErrAsk) && errors.As(err, &refused) && len(refused.Warnings) == 0:
		return err // a preview
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
	e.Account = w.cfg.Accounts[0].Name
	if c.Account != nil {
		e.Account = c.Account.Name
	}
	if c.Attack != nil {
		e.Attack = c.Attack.ID
	}
	w.record(ctx, e)
	return err
}

// recordPlan audits a plan of which nothing was sent.
func (w *recorder) recordPlan(ctx context.Context, c *call.Call, p call.Plan, outcome, why string) {
	e := record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: outcome, Why: why}
	if c.Attack != nil {
		e.Attack = c.Attack.ID
	}
	for _, s := range p.Steps {
		e.After = append(e.After, describe.Step(s))
	}
	w.record(ctx, e)
}

// recordWrite audits what was written to the store.
func (w *recorder) recordWrite(ctx context.Context, c *call.Call, res call.Result) {
	after := []string{res.Lines[0].String()}
	if attacks, ok := res.Data.([]string); ok && len(attacks) > 0 { // the answer names the first of them
		after = append(after, strings.Join(attacks, " "))
	}
	w.record(ctx, record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: res.Outcome, Attack: res.AttackID, After: after})
}
