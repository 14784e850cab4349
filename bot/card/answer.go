package card

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// renderLines draws as many lines as one message holds, and buttons. A button that has no room becomes a line to type.
func renderLines(lines text.Lines, buttons []call.Suggestion) []slack.Block {
	made, without := new(buttonMaker).all(buttons)
	return linesAbove(append(lines[:len(lines):len(lines)], without...), made)
}

// linesAbove draws as many lines as one message holds above buttons.
func linesAbove(lines text.Lines, buttons []*slack.ButtonBlockElement) []slack.Block {
	return append(sections(lines, maxTogether-weight(buttons...)), actions(buttons...)...)
}

// Lines is a message of lines and buttons. Its notification has as many lines as fit.
func Lines(lines text.Lines, buttons ...call.Suggestion) Message {
	return Message{Text: answerText(lines), Blocks: renderLines(lines, buttons)}
}

// Refused says what wasn't done, and in small print what to do next.
func Refused(r *refusal.Refusal) Message {
	msg := Lines(text.Lines{r.All()}) // what is read aloud has no small print
	small, written := inSmall(r.Next)
	msg.Blocks = append(sections(text.Lines{r.Text}, maxTogether-written), small...)
	return msg
}

// inSmall is a line in small print, and how many characters it has; nil: none.
func inSmall(line text.Text) (blocks []slack.Block, written int) {
	if line == nil {
		return nil, 0
	}
	markup := fit(line, maxAskedLine+unseen(line))
	return []slack.Block{slack.NewContextBlock("", markupText(markup))}, length(markup)
}

// notified is a message of lines and buttons with a notification of its own.
func notified(notice string, lines text.Lines, buttons ...call.Suggestion) Message {
	return Message{Text: notification(notice), Blocks: renderLines(lines, buttons)}
}

// mentioning puts mentions of users before lines; "" is none.
func mentioning(lines text.Lines, users ...string) text.Lines {
	for i, user := range slices.Backward(users) {
		if user != "" && !slices.Contains(users[:i], user) {
			lines[0] = text.New(text.User(user), " ", lines[0])
		}
	}
	return lines
}

// answerText is an answer for notifications and screen readers.
func answerText(texts text.Lines) string {
	return strings.Join(firstLines(flat(texts), maxAnswerText/2, maxAnswerText), "\n")
}

// Answer is the answer of a command. With inView it is shown in a modal, and so is its next page.
func Answer(res call.Result, inView bool) Message {
	switch {
	case len(res.Parts) > 0:
		return partsMessage(res)
	case res.Document != "":
		return documentMessage(res, inView)
	}
	return Lines(res.Lines, nextPage(res.Next, inView)...)
}

func nextPage(next *record.Line, inView bool) []call.Suggestion {
	if next == nil {
		return nil
	}
	return []call.Suggestion{{Label: "Next page", Line: *next, Form: inView}}
}

// maxPage is how many characters of a document fit into a message beside some lines and a button.
const maxPage = 8_000

// documentMessage is a result's lines and below them a page of its document, shown verbatim for copying.
func documentMessage(res call.Result, inView bool) Message {
	pages, page := documentPages(res.Document), call.PageOf(res.Line)
	if page > len(pages) {
		return Lines(text.Lines{call.NoPage(page, len(pages))})
	}
	which := text.New("The report as Markdown, to be copied")
	if len(pages) > 1 {
		which.Addf(": page %v of %v. At the terminal it comes in one piece: `wafbot report attack=%v`",
			page, len(pages), res.AttackID)
	}
	lines := append(res.Lines[:len(res.Lines):len(res.Lines)], which)
	var next *record.Line
	if page < len(pages) {
		next = call.WithPage(res.Line, page+1)
	}
	made, _ := new(buttonMaker).all(nextPage(next, inView))
	verbatim := slack.NewRichTextSectionTextElement(pages[page-1], nil) // Slack reads no markup here
	copied := &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{verbatim}}
	blocks := append(sections(lines, maxTogether-length(pages[page-1])-weight(made...)),
		slack.NewRichTextBlock("", copied))
	return Message{Text: answerText(lines), Blocks: append(blocks, actions(made...)...)}
}

// documentPages cuts a document at ends of lines. A line too long for a page is cut anywhere.
func documentPages(document string) []string {
	var pages []string
	var page strings.Builder
	for line := range strings.Lines(document) {
		for line != "" {
			part := text.First(line, maxPage)
			if page.Len() > 0 && length(page.String())+length(part) > maxPage {
				pages = append(pages, page.String())
				page.Reset()
			}
			page.WriteString(part)
			line = line[len(part):]
		}
	}
	return append(pages, page.String())
}

// partsMessage is an answer in parts, each row with its buttons beside it.
func partsMessage(res call.Result) Message {
	w := partsWriter{maker: &buttonMaker{}, room: maxTogether, most: maxBlocks}
	return Message{Text: answerText(res.Lines), Blocks: w.write(res.Parts)}
}

// Summary is a hand-over's message. Its notification says how much goes on and what is in force.
func Summary(a *config.Account, res call.Result) Message {
	s, _ := res.Data.(report.Summary)
	ongoing, inForce := fmt.Sprintf("%d going on", len(s.Ongoing)), fmt.Sprintf("%d in force", len(s.InForce))
	if s.Fault != "" {
		ongoing = "what goes on is UNKNOWN"
	}
	if s.NoStore {
		inForce = "what is in force is UNKNOWN"
	}
	notice := fmt.Sprintf("Hand-over of %s: %s, %s", a.Name, ongoing, inForce)
	if n := len(s.Waiting); n > 0 {
		notice += fmt.Sprintf(", %d waiting for approval", n)
	}
	msg := partsMessage(res)
	msg.Text = notification(notice)
	return msg
}

// FormOffer answers a line that lacks an argument: what is missing, and a button for the form.
func FormOffer(r *refusal.Refusal, line record.Line) Message {
	return Lines(text.Lines{r.Text}, call.Suggestion{Label: "Fill in a form…", Line: line, Form: true})
}

// Ask is the question before a change with warnings: what it does, the warnings, and buttons to go on or cancel.
func Ask(r *refusal.Refusal) Message {
	texts := text.Lines{r.Text}
	var maker buttonMaker
	var buttons []*slack.ButtonBlockElement
	if line := r.Line.String(); fitsValue(line) {
		buttons = append(buttons, maker.button(ActionAnyway, "Do it anyway", line).WithStyle(slack.StyleDanger))
	} else {
		texts.Addf("The line is too long for a button: type it at wafbot's command line, which asks there")
	}
	buttons = append(buttons, slack.NewButtonBlockElement(ActionCancel, "", plainText("Cancel", maxLabel)))
	return Message{Text: answerText(texts), Blocks: linesAbove(texts, buttons)}
}

// DoctorTest is the test card of `wafbot doctor --post`. It mentions no one.
func DoctorTest(of string) Message {
	return Lines(text.Lines{text.Newf("*Test by wafbot doctor: *%v arrives here. Nothing happened, nothing is to be done.", of)})
}
