package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

func audit() *call.Command {
	return command(`audit: viewer
who did what, when, and what was refused
[WHAT]: export: as JSON lines, at the terminal; left out: a list
[since=]: how far back: 24h
[by=]: @me, a mention, or a part of a name or id
[page=]
[--all]
Example: audit since=24h by=@me`, call.Command{
		AnyAccount: true,
		Needs:      call.Rounds{report.AuditNeeds},
		Read:       report.ShowAudit,
		ReadTrail:  report.ExportAudit,
	})
}
