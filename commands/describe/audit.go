package describe

import (
	"strings"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AuditEntry is an audit entry in one line.
func AuditEntry(e record.AuditEntry) text.Text {
	line := text.New("#", e.N, " ", e.At, " ", e.Actor.Name, " (", string(e.Actor.Via), ") ", text.Code(text.Sanitize(e.Line, 200)), ": ", text.Bold(e.Outcome))
	if e.Change != "" {
		line = text.New(line, " ", text.Code(e.Change))
	}
	if !strings.Contains(e.Line, e.Request) {
		line = text.New(line, " ", text.Code(e.Request))
	}
	if e.Approved != nil {
		line = text.New(line, ", approved by ", text.Sanitize(e.Approved.Name, text.MaxField))
	}
	if e.Why != "" {
		line = text.New(line, ", ", text.Sanitize(strings.ReplaceAll(e.Why, "\n", " "), 200))
	}
	return line
}
