package describe

import (
	"fmt"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// MuteScope is muted, as the grammar writes it.
func MuteScope(m record.Mute) string {
	what := "type=" + m.Type
	switch {
	case m.Attack != "":
		what = "attack=" + m.Attack
	case m.Source.IsValid():
		what = "source=" + grammar.RangeOf(m.Source).String()
	}
	if m.App != 0 {
		what += fmt.Sprintf(" app=%d", m.App)
	}
	return what
}

// Mute is a mute in one line: what, until when, by whom.
func Mute(m record.Mute) text.Text {
	return text.New(text.Code(MuteScope(m)), " until ", m.Until, ", by ", text.Sanitize(m.By.Name, text.MaxField), " ", text.Code(m.ID))
}
