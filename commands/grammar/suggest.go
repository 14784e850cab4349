package grammar

import (
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/text"
)

// Hint is " (did you mean …?)" when one of the known words is near enough to what was typed.
func Hint(typed string, known []string) text.Text {
	best := nearest.Word(typed, known, min(2, len(typed)-1))
	if best == "" {
		return nil
	}
	return text.New(" (did you mean ", text.Code(best), "?)")
}
