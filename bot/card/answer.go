package card

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxButtons is Slack's limit for one block.
const maxButtons = 25

// renderLines draws as many lines as one message holds, and buttons. A button that has no room becomes a line to type.
func renderLines(lines []text.Text, buttons []call.Suggestion) []slack.Block {
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

// sections puts lines into as few blocks as possible, of at most room characters together.
func sections(texts []text.Text, room int) []slack.Block {
	var blocks []slack.Block
	var text string
	for _, line := range firstLines(flat(texts), maxText, room) {
		if text != "" && length(text)+1+length(line) > maxText {
			blocks = append(blocks, section(text, nil))
			text = ""
		}
		text = strings.TrimPrefix(text+"\n"+line, "\n")
	}
	return append(blocks, section(text, nil))
}

// firstLines returns as many lines in Slack's markup as room allows, none longer than most. It counts the lines left out. The first line is cut
// rather than left out.
func firstLines(lines []text.Text, most, room int) []string {
	const rest = 40 // for saying how many are left out
	var first []string
	for i, line := range lines {
		limit := most
		if i == 0 {
			limit = max(1, min(most, room-rest-1))
		}
		markup := fit(line, limit)
		if room -= length(markup) + 1; room < rest {
			return append(first, moreLines(len(lines)-i))
		}
		first = append(first, markup)
	}
	return first
}

func moreLines(n int) string {
	return fmt.Sprintf("… %d %s", n, text.Plural(int64(n), "more line"))
}

// flat splits texts into lines and drops blank ones. It returns at least one line.
func flat(texts []text.Text) []text.Text {
	var lines []text.Text
	for _, t := range texts {
		for _, line := range splitLines(t) {
			if !blank(line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return []text.Text{text.New("Nothing to show")}
	}
	return lines
}

// blank reports whether a line shows nothing. It stops at the first visible character: hostile text may be long.
func blank(t text.Text) bool {
	return !slices.ContainsFunc(t, func(s text.Span) bool {
		return !isPlain(s) || strings.TrimSpace(s.Plain) != ""
	})
}

// splitLines splits a text where a piece begins or ends with a line end. A line end inside a piece is hostile and stays visible.
func splitLines(t text.Text) []text.Text {
	lines := []text.Text{nil}
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

// Lines is a message of lines and buttons. Its notification has as many lines as fit.
func Lines(lines []text.Text, buttons []call.Suggestion) Message {
	return Message{Text: answerText(lines), Blocks: renderLines(lines, buttons)}
}

// maxPage is how many characters of a document fit into a message beside some lines and a button.
const maxPage = 8_500

// documentMessage is a result's lines and below them a page of a document, shown verbatim for copying.
func documentMessage(res call.Result, buttons []call.Suggestion) Message {
	page := text.First(res.Document, maxPage)
	var maker buttonMaker
	var made []*slack.ButtonBlockElement
	for _, s := range buttons {
		if b, ok := maker.suggestion(s); ok {
			made = append(made, b)
		}
	}
	text := slack.NewRichTextSectionTextElement(page, nil) // verbatim: Slack reads no markup here
	copied := &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{text}}
	blocks := append(sections(res.Lines, maxTogether-length(page)-weight(made...)), slack.NewRichTextBlock("", copied))
	if len(made) > 0 {
		blocks = append(blocks, actions(made))
	}
	return Message{Text: answerText(res.Lines), Blocks: blocks}
}

// Answer is the answer of a command. With inView it is shown in a modal, and so is its next page.
func Answer(res call.Result, inView bool) Message {
	if len(res.Parts) > 0 {
		return partsMessage(res)
	}
	var buttons []call.Suggestion
	if res.Next != nil {
		buttons = append(buttons, call.Suggestion{Label: "Next page", Line: *res.Next, Form: inView})
	}
	if res.Document != "" {
		return documentMessage(res, buttons)
	}
	return Lines(res.Lines, buttons)
}

// FormOffer answers a line that lacks an argument: what is missing, and a button for the form.
func FormOffer(r *refusal.Refusal, line record.Line) Message {
	form := call.Suggestion{Label: "Fill in a form…", Line: line, Form: true}
	return Lines([]text.Text{r.Text}, []call.Suggestion{form})
}

// answerText is an answer for notifications and screen readers.
func answerText(texts []text.Text) string {
	return strings.Join(firstLines(flat(texts), maxAnswerText/2, maxAnswerText), "\n")
}

// Ask is the question before a change with warnings: what it does, the warnings, and buttons to go on or cancel.
func Ask(r *refusal.Refusal) Message {
	texts := []text.Text{r.Text}
	var maker buttonMaker
	var buttons []*slack.ButtonBlockElement
	if line := r.Line.String(); fitsValue(line) {
		do := slack.NewButtonBlockElement(maker.id(ActionAnyway), line, plainText("Do it anyway", maxLabel))
		buttons = append(buttons, do.WithStyle(slack.StyleDanger))
	} else {
		texts = append(texts, text.New("The line is too long for a button: type it at wafbot's command line, which asks there"))
	}
	buttons = append(buttons, slack.NewButtonBlockElement(ActionCancel, "", plainText("Cancel", maxLabel)))
	blocks := append(sections(texts, maxTogether-weight(buttons...)), actions(buttons))
	return Message{Text: answerText(texts), Blocks: blocks}
}

// DoctorTest is the test card of `wafbot doctor --post`. It mentions no one.
func DoctorTest(of string) Message {
	line := text.New(text.Bold("Test by wafbot doctor: "), of, " arrives here. Nothing happened, nothing is to be done.")
	return Lines([]text.Text{line}, nil)
}
