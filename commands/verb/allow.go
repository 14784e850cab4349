package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
)

func allow() *call.Command {
	return listCommand(`allow whitelist: admin
put sources on the allowlist: their requests pass, whatever they are
Example: allow 198.51.100.9 for=1h`, call.Command{Plan: change.Allowing.Plan})
}
