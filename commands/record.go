package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
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

// printed is an entry as it is written to the log's output, and exported.
type printed struct {
	Audit record.AuditEntry `json:"audit"`
}

// print writes an entry to the log's output.
func (r *Runner) print(e record.AuditEntry) {
	line, err := json.Marshal(printed{Audit: e})
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
func (r *Runner) recordRefusal(ctx context.Context, c *Call, err error) {
	e := record.AuditEntry{At: c.Now, Actor: c.Actor, Line: c.Invocation.Line.String(), Outcome: "failed", Why: "fault, see the log"}
	var refused *refusal.Refusal
	switch {
	case errors.Is(err, errRecorded):
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

// errRecorded marks an error whose audit entry is written already.
var errRecorded = errors.New("recorded")

// recordPlan audits a plan of which nothing was sent.
func (r *Runner) recordPlan(ctx context.Context, c *Call, p Plan, outcome, why string) {
	e := record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: outcome, Why: why}
	if c.Attack != nil {
		e.Attack = c.Attack.ID
	}
	for _, s := range p.Steps {
		e.After = append(e.After, stepDescribe(s))
	}
	r.record(ctx, e)
}

// recordWrite audits what was written into wafbot's own memory.
func (r *Runner) recordWrite(ctx context.Context, c *Call, res Result) {
	after := []string{res.Lines[0].String()}
	if attacks, ok := res.Data.([]string); ok && len(attacks) > 0 { // the answer names the first of them
		after = append(after, strings.Join(attacks, " "))
	}
	r.record(ctx, record.AuditEntry{At: c.Now, Account: c.Account.Name, Actor: c.Actor, Line: c.Line.String(), Outcome: res.Outcome, Attack: res.AttackID, After: after})
}

// changeEntry is the audit entry of a change that was sent.
func changeEntry(c *Call, ch record.Change) record.AuditEntry {
	e := record.AuditEntry{
		At: c.Now, Account: ch.Account, Actor: c.Actor, Line: ch.Line.String(), Outcome: outcome(ch.State), Change: ch.ID, Attack: ch.AttackID, Why: ch.Reason,
		Request: ch.Request, Approved: ch.Approved,
	}
	if ch.Fault != "" {
		e.Why = ch.Fault
	}
	for _, s := range ch.Steps {
		for _, b := range s.Before {
			e.Before = append(e.Before, stepDescribe(record.Step{Kind: record.AddEntry, Entry: &b}))
		}
		if s.Sent {
			e.After = append(e.After, stepDescribe(s))
		}
	}
	return e
}

// outcome is a change's state once it was sent, for the audit log.
func outcome(s record.State) string {
	if s == record.StateBegun {
		return "unknown"
	}
	return string(s)
}

// describe is the step in words for the audit log and for rehearsals.
func stepDescribe(s record.Step) string {
	switch s.Kind {
	case record.AddEntry, record.DeleteEntry:
		verb := "add to"
		if s.Kind == record.DeleteEntry {
			verb = fmt.Sprintf("delete entry %d from", s.Entry.ID)
		}
		var names []string
		for _, t := range grammar.TargetsOf(*s.Entry) {
			names = append(names, t.String())
		}
		return fmt.Sprintf("%s list %s: %s apps=%v until %s force=%v reason=%q", verb, s.Entry.List, strings.Join(names, ","), s.Entry.Apps,
			s.Entry.Expires.UTC().Format(time.RFC3339), s.Force, s.Entry.Reason)
	}
	verb := "create"
	if s.Kind == record.DeleteRule {
		verb = fmt.Sprintf("delete rule %d,", s.Rule.ID)
	}
	return fmt.Sprintf("%s %s", verb, ruleText(*s.Rule))
}
