package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
)

func extend() *call.Command {
	return command(`extend: responder
let a change hold longer than it would
CHANGE: the change's id, as c7k2m9xw4
for= How much longer: how much longer, from its present end: 30m, 4h, 7d
[reason=]
Example: extend c7k2m9xw4 for=4h`, call.Command{
		Needs: call.Rounds{change.ExtendNeeds},
		Plan:  change.PlanExtend,
	})
}
