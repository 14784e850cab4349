// Package card draws records as Slack messages, modals and Home tabs. Its functions are pure, and it alone knows the
// limits and markup of Slack.
package card

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

// drawing is a card while it is drawn.
type drawing struct {
	call.Situation
	Headline words.Headline
}

// Message is what is posted.
type Message struct {
	Text     string // for notifications and screen readers
	Blocks   []slack.Block
	Metadata slack.SlackMetadata
}

// Options are the message's text and blocks for Slack's client. Links are not unfurled: Slack would fetch and show an
// attacker's address.
func (m Message) Options() []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...), slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
	}
}

// Render draws an attack's card: what happens, what was done, what can be done.
func Render(s call.Situation) Message { return drawing{s, efficacy.Headline(s)}.render() }

func (c drawing) render() Message {
	if c.Account == nil {
		c.Account = &config.Account{}
	}
	offered, notice := advice.Advise(c.Situation), c.notice
	if c.Storm != nil {
		notice = c.stormNotice
	}
	lines := c.lines(offered)
	var shown text.Lines
	for _, l := range lines {
		shown = append(shown, l.text())
	}
	last := len(shown) - 1
	buttons, without := c.buttons(offered)
	return Message{
		Text: notice(), Metadata: c.metadata(),
		Blocks: append([]slack.Block{
			section(paragraph(append(shown[:last:last], without...)), nil),
			slack.NewContextBlock("", markupText(fit(shown[last], maxCardLine))),
		}, actions(buttons...)...),
	}
}

// paragraph joins lines in Slack's markup.
func paragraph(lines text.Lines) string {
	var markups []string
	for _, line := range lines {
		markups = append(markups, fit(line, maxCardLine+unseen(line)))
	}
	return strings.Join(markups, "\n")
}

// unseen estimates how many characters of a line's markup are not visible.
func unseen(line text.Text) int {
	n := 0
	for _, s := range line {
		switch {
		case !s.Time.IsZero():
			n += 50
		case s.Kind == text.KindLink:
			n += length(address(s))
		}
	}
	return n
}
