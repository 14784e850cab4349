package commands

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func reject() *Command {
	return &Command{
		Name: "reject", Role: record.Responder,
		Summary: "be the second person: refuse what somebody else asked for",
		Args:    []Arg{argRequest, {Name: "reason", Help: "why, for the one who asked and the audit log"}},
		Decide:  rejectRequest,
	}
}

func rejectRequest(ctx context.Context, c *Call) (Result, error) {
	q, err := c.requestTyped(ctx)
	if err != nil {
		return Result{}, err
	}
	if !c.mine(q, record.RequestRejected) {
		if err := c.maySecond(q); err != nil || c.Ask {
			return Result{}, err
		}
		q = c.decided(q, record.RequestRejected, c.Line.Keys["reason"])
		entry := c.requestEntry(q, string(record.RequestRejected))
		if err := c.saveRequest(ctx, &entry, &q); err != nil {
			return Result{}, Away(err)
		}
	}
	return Result{Outcome: "done", Lines: []text.Text{RequestLine(q, c.Now)}, AttackID: q.AttackID, Account: q.Account, Data: q}, nil
}
