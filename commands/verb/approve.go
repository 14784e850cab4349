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
