package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

func incidents() *call.Command {
	return command(`incidents: viewer
the attacks that worked, the newest first
[since=]: how far back: 24h
[page=]
[--all]
Example: incidents since=7d`, call.Command{
		AnyAccount: true,
		Needs:      report.ListNeeds(24*time.Hour, true),
		Read: func(c *call.Call) (call.Result, error) {
			return report.ListAttacks(c, "incident", 24*time.Hour)
		},
	})
}
