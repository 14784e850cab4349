package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
)

func incidents() *call.Command {
	return &call.Command{
		Name: "incidents", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks that worked, the newest first",
		Args:    []call.Arg{{Name: "since", Help: "how far back: 24h", Read: call.ReadDuration, Bare: grammar.IsDuration}, call.ArgPage},
		Example: "incidents since=7d",
		Needs:   report.ListNeeds(24*time.Hour, true),
		Read: func(c *call.Call) (call.Result, error) {
			return report.ListAttacks(c, "incident", 24*time.Hour)
		},
	}
}
