package change

import (
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

// longer is by how much wafbot prolongs the change when it knocks: by its own length, as far as it may; 0: not at all.
func RenewalLength(c record.Change) time.Duration {
	length, err := grammar.ParseDuration(c.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = c.Until.Sub(c.At)
	}
	return max(0, min(length, c.Renew.Sub(c.Until))).Truncate(time.Second)
}

// renewLine is the line that prolongs the change, as a person could type it.
func RenewLine(c record.Change) record.Line {
	return record.Line{Name: "extend", Words: []string{c.ID}}.With("for", grammar.DurationText(RenewalLength(c))).With("reason", "it is still trying").With("account", c.Account)
}
