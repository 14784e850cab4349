package verb

import (
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
)

// readSince takes a duration of a week at most.
func readSince(value string, _ *config.Account) (string, error) {
	back, err := grammar.ParseDuration(value)
	if err == nil && (back == grammar.Never || back > report.LongestTrend) {
		err = refusal.Invalid("duration", value, "7d", "The service goes back 7 days")
	}
	return grammar.DurationText(back), err
}
