package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
)

func gray() *call.Command {
	return listCommand(`gray grey: responder
put sources on the graylist: their attacks are blocked in safe_blocking mode
[--shared]
Example: gray 203.0.113.7 for=24h`, call.Command{Plan: change.Graying.Plan})
}
