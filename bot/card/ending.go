package card

import (
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// MitigationEnding asks whether to extend a change, or says that it has ended. attack is "" where the message is a reply under its card.
func MitigationEnding(ch record.Change, who, attack string, now time.Time) Message {
	lines := change.EndingLines(ch, now)
	if attack != "" {
		lines[0] = text.New(lines[0], " ", text.Code(attack))
	}
	var buttons []call.Suggestion
	if ch.InForce(now) {
		buttons = append(buttons, advice.Extend(ch))
	}
	return Lines(called(who, lines), buttons)
}

// EndOverdue says that a change still holds although its end has passed.
func EndOverdue(a *call.Account, ch record.Change, who string, now time.Time) Message {
	return Lines(called(who, change.OverdueLines(a, ch, now)), nil)
}

// called puts a mention of who before the lines; "": none.
func called(who string, lines []text.Text) []text.Text {
	if who != "" {
		lines[0] = text.New(text.User(who), " ", lines[0])
	}
	return lines
}
