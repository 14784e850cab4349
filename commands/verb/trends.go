package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
)

func trends() *call.Command {
	return command(`trends: viewer
attacks per day by type, status and host, up to 7 days back
[since=]: how many days, today among them: 7d, the most that the service has
Example: trends since=3d`, call.Command{
		Needs: call.Rounds{report.TrendNeeds},
		Read:  report.ShowTrends,
	})
}

// readSince takes a duration of a week at most.
func readSince(value string, _ *config.Account) (string, error) {
	back, err := grammar.ParseDuration(value)
	if err == nil && (back == grammar.Never || back > report.LongestTrend) {
		err = refusal.Invalid("duration", value, "7d", "The service goes back 7 days")
	}
	return grammar.DurationText(back), err
}
