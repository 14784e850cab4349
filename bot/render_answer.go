package bot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
)

// How many buttons one block holds.
const maxButtons = 25

// renderLines is the answer to a command: its lines, as many as one message holds, and buttons.
func renderLines(lines []commands.Text, buttons []commands.Suggestion) []slack.Block {
	var maker buttonMaker
	var made []*slack.ButtonBlockElement
	for _, s := range buttons {
		b, ok := maker.suggestion(s)
		if !ok || len(made) == maxButtons || weight(made...)+weight(b) > maxTogether/2 {
			lines = append(slices.Clip(lines), toType(s))
			continue
		}
		made = append(made, b)
	}
	blocks := sections(lines, maxTogether-weight(made...))
	if len(made) > 0 {
		blocks = append(blocks, actions(made))
	}
	return blocks
}

// sections puts lines into as few blocks as hold them, with at most so many characters together; what is left out is counted.
func sections(texts []commands.Text, room int) []slack.Block {
	lines := rendered(texts)
	const rest = 40 // for saying how many are left out
	var blocks []slack.Block
	var text string
	for i, line := range lines {
		if left := len(lines) - i; runes(line)+1 > room-rest {
			line = fmt.Sprintf("… %d more lines", left)
			if left == 1 {
				line = "… 1 more line"
			}
			lines = lines[:i] // the loop's last turn
		}
		room -= runes(line) + 1
		if text != "" && runes(text)+1+runes(line) > maxText {
			blocks = append(blocks, section(text, nil))
			text = ""
		}
		text = strings.TrimPrefix(text+"\n"+line, "\n")
		if len(lines) == i {
			break
		}
	}
	return append(blocks, section(text, nil))
}

// rendered is each line in Slack's markup; never none.
func rendered(texts []commands.Text) []string {
	var lines []string
	for _, t := range texts {
		for _, line := range splitLines(t) {
			if markup := mrkdwn(line); strings.TrimSpace(markup) != "" {
				lines = append(lines, markup)
			}
		}
	}
	if len(lines) == 0 {
		return []string{"Nothing to show"}
	}
	return lines
}

// splitLines parts a text where one of its own pieces begins or ends with a line end; those inside a piece are a stranger's and stay visible.
func splitLines(t commands.Text) []commands.Text {
	lines := []commands.Text{nil}
	for _, s := range t {
		rest, begins := strings.CutPrefix(s.Plain, "\n")
		rest, ends := strings.CutSuffix(rest, "\n")
		if begins {
			lines = append(lines, nil)
		}
		s.Plain = rest
		lines[len(lines)-1] = append(lines[len(lines)-1], s)
		if ends {
			lines = append(lines, nil)
		}
	}
	return lines
}

// answerText is an answer for notifications and for those who can't see blocks.
func answerText(texts []commands.Text) string {
	var kept []string
	room := maxAnswerText
	for i, t := range texts {
		line := fit(t, maxAnswerText/2)
		if room -= runes(line) + 1; room < 0 {
			return strings.Join(kept, "\n") + fmt.Sprintf("\n… %d more lines", len(texts)-i)
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// renderAsk is the question before a change that warns: what would be done, what speaks against it, and both ways on.
func renderAsk(r *commands.Refusal) Message {
	texts := []commands.Text{r.Text}
	var maker buttonMaker
	var buttons []*slack.ButtonBlockElement
	if line := r.Line.String(); fitsValue(line) {
		do := slack.NewButtonBlockElement(maker.id(actionAnyway), line, plainText("Do it anyway", maxLabel))
		buttons = append(buttons, do.WithStyle(slack.StyleDanger))
	} else {
		texts = append(texts, commands.Say("The line is too long for a button: type it at wafbot's command line, which asks there"))
	}
	buttons = append(buttons, slack.NewButtonBlockElement(actionLeave, "", plainText("Leave", maxLabel)))
	blocks := append(sections(texts, maxTogether-weight(buttons...)), actions(buttons))
	return Message{Text: answerText(texts), Blocks: blocks}
}
