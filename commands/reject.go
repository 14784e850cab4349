package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func reject() *Command {
	return &Command{
		Name: "reject", Role: record.Responder,
		Summary: "reject what another user asked for",
		Args:    []Arg{argRequest, {Name: "reason", Help: "why, for the one who asked and the audit log"}},
		Decide:  rejectRequest,
	}
}

func rejectRequest(c *Call) (Decision, error) {
	q, err := c.requestTyped()
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Request: q, As: record.RequestRejected, Why: c.Line.Keys["reason"]}
	if d.Begun = c.mine(q, record.RequestRejected); d.Begun {
		return d, nil
	}
	return d, c.maySecond(q)
}
