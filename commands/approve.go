package commands

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
)

// argRequest is the request that somebody decides.
var argRequest = Arg{Name: "request", Object: true, Required: true, Help: "the request's id, as r7k2m9xw4", Options: waitingRequests}

func approve() *Command {
	return &Command{
		Name: "approve", Role: record.Responder,
		Summary: "be the second person: have done what somebody else asked for",
		Args:    []Arg{argRequest},
		Decide:  approveRequest,
	}
}

func approveRequest(ctx context.Context, c *Call) (Result, error) {
	if err := c.changesOn(); err != nil {
		return Result{}, err
	}
	q, err := c.requestTyped(ctx)
	if err != nil {
		return Result{}, err
	}
	if c.mine(q, record.RequestApproved) && !c.Ask {
		return c.goOnWith(ctx, q, q.Line)
	}
	if err := c.maySecond(q); err != nil || c.Ask {
		return Result{}, err
	}
	return c.carry(ctx, q, record.RequestApproved, "", q.Line)
}
