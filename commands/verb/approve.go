package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

// argRequest is the approval request that is decided.
var argRequest = call.Arg{Name: "request", Object: true, Required: true, Help: "the request's id, as r7k2m9xw4", Options: form.WaitingRequests}

func approve() *call.Command {
	return &call.Command{
		Name: "approve", Role: record.Responder,
		Summary: "approve what another user asked for",
		Args:    []call.Arg{argRequest},
		Decide:  approveRequest,
	}
}

func approveRequest(c *call.Call) (call.Decision, error) {
	if err := approval.RequireChangesOn(c); err != nil {
		return call.Decision{}, err
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	d := call.Decision{Request: q, As: record.RequestApproved, Line: q.Line}
	if d.Begun = approval.DecidedBefore(c, q, record.RequestApproved) && !c.Ask; d.Begun {
		return d, nil
	}
	return d, approval.MayApprove(c, q)
}
