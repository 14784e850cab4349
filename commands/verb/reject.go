package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

func reject() *call.Command {
	return &call.Command{
		Name: "reject", Role: record.Responder,
		Summary: "reject what another user asked for",
		Args:    []call.Arg{argRequest, {Name: "reason", Help: "why, for the one who asked and the audit log"}},
		Decide:  rejectRequest,
	}
}

func rejectRequest(c *call.Call) (call.Decision, error) {
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	d := call.Decision{Request: q, As: record.RequestRejected, Why: c.Line.Keys["reason"]}
	if d.Begun = approval.DecidedBefore(c, q, record.RequestRejected); d.Begun {
		return d, nil
	}
	return d, approval.MayApprove(c, q)
}
