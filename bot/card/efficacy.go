package card

import (
	"slices"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Efficacy mentions users because a change doesn't work, or a denied source returned, and offers undo.
func Efficacy(s call.Situation, ch record.Change, users []string) Message {
	lines := efficacy.FailureLines(s, ch)
	for _, user := range slices.Backward(users) {
		lines[0] = text.New(text.User(user), " ", lines[0])
	}
	return Lines(lines, advice.Undo(ch, s.Now))
}
