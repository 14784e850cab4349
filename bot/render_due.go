package bot

import (
	"time"

	"github.com/wafbot/wafbot/commands"
)

// endsMessage asks whether a change is to hold longer, or says that it has ended; attack is named where the message isn't under its card.
func endsMessage(ch commands.Change, who, attack string, now time.Time) Message {
	lines := commands.EndsLines(ch, now)
	if attack != "" {
		lines[0] = commands.Say(lines[0], " ", commands.Code(attack))
	}
	var buttons []commands.Suggestion
	if ch.InForce(now) {
		buttons = append(buttons, commands.ExtendButton(ch))
	}
	return linesMessage(called(who, lines), buttons)
}

// overdueMessage says that a change still holds whose end is past.
func overdueMessage(a Account, ch commands.Change, who string, now time.Time) Message {
	return linesMessage(called(who, a.OverdueLines(ch, now)), nil)
}

// called are lines that call somebody; "": nobody.
func called(who string, lines []commands.Text) []commands.Text {
	if who != "" {
		lines[0] = commands.Say(commands.User(who), " ", lines[0])
	}
	return lines
}
