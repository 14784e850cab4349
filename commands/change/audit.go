package change

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
)

// AuditEntry is the audit entry of a change that was sent.
func AuditEntry(c *call.Call, ch record.Change) record.AuditEntry {
	e := record.AuditEntry{
		At: c.Now, Account: ch.Account, Actor: c.Actor, Line: ch.Line.String(), Outcome: auditOutcome(ch.State), Change: ch.ID, Attack: ch.AttackID, Why: ch.Reason,
		Request: ch.Request, Approved: ch.Approved,
	}
	if ch.Fault != "" {
		e.Why = ch.Fault
	}
	for _, s := range ch.Steps {
		for _, b := range s.Before {
			e.Before = append(e.Before, describe.Step(record.Step{Kind: record.AddEntry, Entry: &b}))
		}
		if s.Sent {
			e.After = append(e.After, describe.Step(s))
		}
	}
	return e
}

// auditOutcome is a change's state once it was sent, for the audit log.
func auditOutcome(s record.State) string {
	if s == record.StateBegun {
		return "unknown"
	}
	return string(s)
}
