package describe

import (
	"cmp"
	"fmt"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Outage says when an account was not watched, and why.
func Outage(s record.Outage) text.Text {
	words := text.New(text.Bold("Not watched"), " from ", s.From)
	if s.Until.IsZero() {
		words = text.New(words, ", and still is")
	} else {
		words = text.New(words, " to ", s.Until, fmt.Sprintf(" (%s)", text.Duration(s.Until.Sub(s.From))))
	}
	return text.New(words, ": ", cmp.Or(s.Why, "it was not running, as far as is known"))
}
