package commands

import "context"

func reject() *Command {
	return &Command{
		Name: "reject", Role: Responder,
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
	if !c.mine(q, RequestRejected) {
		if err := c.maySecond(q); err != nil || c.Ask {
			return Result{}, err
		}
		q = c.decided(q, RequestRejected, c.Line.Keys["reason"])
		entry := c.requestEntry(q, string(RequestRejected))
		if err := c.saveRequest(ctx, &entry, &q); err != nil {
			return Result{}, Away(err)
		}
	}
	return Result{Outcome: "done", Lines: []Text{RequestLine(q, c.Now)}, AttackID: q.AttackID, Account: q.Account, Data: q}, nil
}
