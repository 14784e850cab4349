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
		Example: `reject r7k2m9xw4 reason="it is our own scanner"`,
		Needs:   call.Needs{Approvals: true}.Always(),
		Decide: func(c *call.Call) (call.Decision, error) {
			return decide(c, record.RequestRejected, func(d *call.Decision) error {
				d.Why = c.Line.Keys["reason"]
				return approval.MayApprove(c, d.Request)
			})
		},
	}
}
