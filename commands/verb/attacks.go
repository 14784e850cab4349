package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
)

func attacks() *call.Command {
	return &call.Command{
		Name: "attacks", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks of the last hour, the newest first",
		Args: []call.Arg{
			{Name: "since", Help: "how far back: 1h", Read: call.ReadDuration, Bare: grammar.IsDuration},
			{Name: "storm", Help: "only those that a storm groups, by its id, as on its card", Options: form.StormsGrouped, Needs: call.Needs{Storms: true}}, call.ArgPage,
		},
		Example: "attacks since=24h",
		Needs:   report.ListNeeds(time.Hour, false),
		Read: func(c *call.Call) (call.Result, error) {
			if c.Line.Keys["storm"] != "" {
				return report.ListGrouped(c)
			}
			return report.ListAttacks(c, "attack", time.Hour)
		},
	}
}
