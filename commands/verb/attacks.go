package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

func attacks() *call.Command {
	return command(`attacks: viewer
the attacks of the last hour, the newest first
[since=]: how far back: 1h
[storm=]: only those that a storm groups, by its id, as on its card
[page=]
[--all]
Example: attacks since=24h`, call.Command{
		AnyAccount: true,
		Needs:      report.ListNeeds(time.Hour, false),
		Read: func(c *call.Call) (call.Result, error) {
			if c.Line.Keys["storm"] != "" {
				return report.ListGrouped(c)
			}
			return report.ListAttacks(c, "attack", time.Hour)
		},
	})
}
