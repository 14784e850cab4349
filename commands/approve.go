package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

// argRequest is the request that somebody decides.
var argRequest = Arg{Name: "request", Object: true, Required: true, Help: "the request's id, as r7k2m9xw4", Options: waitingRequests}

func approve() *Command {
	return &Command{
		Name: "approve", Role: record.Responder,
		Summary: "approve what another user asked for",
		Args:    []Arg{argRequest},
		Decide:  approveRequest,
	}
}

func approveRequest(c *Call) (Decision, error) {
	if err := c.changesOn(); err != nil {
		return Decision{}, err
	}
	q, err := c.requestTyped()
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Request: q, As: record.RequestApproved, Line: q.Line}
	if d.Begun = c.mine(q, record.RequestApproved) && !c.Ask; d.Begun {
		return d, nil
	}
	return d, c.maySecond(q)
}
