// Package card draws records as Slack messages, modals and Home tabs. Its functions are pure, and it alone knows the limits and markup of Slack.
package card

import (
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/headline"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Card is everything that a card shows.
type Card struct {
	Situation  call.Situation
	Headline   headline.Headline
	FiguresAt  time.Time // when the attack's figures were read, or found unchanged, on the service's clock; zero: unknown
	Course     []record.HitPoint
	Outage     record.Outage // during which no figures can be read; zero: they can
	Late       time.Duration // from when wafbot first found it worth a card to the card; 0: at once
	Rare       bool          // older facts stood there because nobody acts on the card, and there are too few edits for all
	StaleFor   time.Duration // how long the card showed older facts before this redraw; 0: not for long
	Quiet      bool          // since Attack.Last
	ConsoleURL string        // "": no link
	Runbook    string        // address; "": none
	Mention    string        // user or user group that the route mentions; "": none
	QuietHours bool          // for which the route mentions no one
	Reposted   bool          // it replaces a card that was deleted or can't be edited
	Uneditable bool          // with Reposted: the former card still stands
	Triage     record.Triage // owner, notes, verdict
	Page       Page          // state of the route's pager

	SharedChannel bool   // other accounts have cards in its channel, too
	Delivery      string // delivery id, for the metadata
}

// Message is what is posted.
type Message struct {
	Text     string // for notifications and screen readers
	Blocks   []slack.Block
	Metadata slack.SlackMetadata
}

// Options are the message's text and blocks for Slack's client. Links are not unfurled: Slack would fetch and show an attacker's address.
func (m Message) Options() []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// Render draws a card: what happens, what was done, what can be done.
func Render(c Card) Message {
	if c.Situation.Account == nil {
		c.Situation.Account = &config.Account{}
	}
	if c.Situation.Storm != nil {
		return c.storm()
	}
	offered := advice.Advise(c.Situation)
	lines, small := c.attackLines(offered)
	var maker buttonMaker
	buttons, without := c.buttons(&maker, offered)
	for _, why := range without {
		lines = append(lines, line{{why, 0}})
	}
	return c.message(lines, small, c.notice(), buttons)
}

// message puts lines, small print and buttons together.
func (c Card) message(lines []line, small line, notice string, buttons []*slack.ButtonBlockElement) Message {
	var shown []text.Text
	for _, l := range lines {
		shown = append(shown, l.text())
	}
	blocks := append(paragraphs([][]text.Text{shown}), slack.NewContextBlock("", markupText(fit(small.text(), maxCardLine))))
	return Message{Text: notice, Blocks: append(blocks, actions(buttons...)...), Metadata: c.metadata()}
}

// paragraphs makes one block for each paragraph that has lines.
func paragraphs(all [][]text.Text) (blocks []slack.Block) {
	for _, lines := range all {
		if text := paragraph(lines); text != "" {
			blocks = append(blocks, section(text, nil))
		}
	}
	return blocks
}

// paragraph joins lines in Slack's markup.
func paragraph(lines []text.Text) string {
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
