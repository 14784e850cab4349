package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

func approve() *call.Command {
	return command(`approve: responder
approve what another user asked for
REQUEST
Example: approve r7k2m9xw4`, call.Command{
		Needs: call.Needs{Approvals: true}.Always(),
		Decide: func(c *call.Call) (call.Decision, error) {
			return decide(c, record.RequestApproved, func(d *call.Decision) error {
				d.Line = d.Request.Line
				return approval.MayApprove(c, d.Request)
			})
		},
	})
}

func reject() *call.Command {
	return command(`reject: responder
reject what another user asked for
REQUEST
[reason=]: why, for the one who asked and the audit log
Example: reject r7k2m9xw4 reason="it is our own scanner"`, call.Command{
		Needs: call.Needs{Approvals: true}.Always(),
		Decide: func(c *call.Call) (call.Decision, error) {
			return decide(c, record.RequestRejected, func(d *call.Decision) error {
				d.Why = c.Line.Keys["reason"]
				return approval.MayApprove(c, d.Request)
			})
		},
	})
}
