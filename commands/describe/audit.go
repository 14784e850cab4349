package describe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func AuditLine(e record.AuditEntry) text.Text {
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

// text says how long a spell was, and why.
func OutageText(s record.Outage) text.Text {
	words := text.New("from ", s.From)
	if s.Until.IsZero() {
		words = text.New(words, ", and still is")
	} else {
		words = text.New(words, " to ", s.Until, fmt.Sprintf(" (%s)", text.HumanDuration(s.Until.Sub(s.From))))
	}
	return text.New(words, ": ", cmp.Or(s.Why, "it was not running, as far as is known"))
}
