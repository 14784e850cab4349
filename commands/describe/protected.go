package describe

import (
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Protected is it in one line: what, whose, since when.
func Protected(p record.Protected) text.Text {
	line := text.New(text.Code(grammar.RangeOf(p.Range).String()), " ", text.Bold(policy.ProtectedSource(p).Name), ", ", policy.HowDenied(p.Deny), ", by ", text.Sanitize(p.By.Name, text.MaxField), " ", p.At, " ", text.Code(p.ID))
	if p.Reason != "" {
		line = text.New(line, ": ", text.Sanitize(p.Reason, text.MaxField))
	}
	return line
}
