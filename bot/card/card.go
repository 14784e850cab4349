// Package card draws records as Slack messages, modals and Home tabs. Its functions are pure, and it alone knows the limits and markup of Slack.
package card

import (
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Card is everything that a card shows.
type Card struct {
	Situation   call.Situation
	FiguresAt   time.Time // when the attack's figures were read, or found unchanged, on the service's clock; zero: unknown
	Course      []record.HitPoint
	Outage      record.Outage // during which no figures can be read; zero: they can
	Found       time.Time     // when wafbot first found it worth a card; zero: unknown
	Late        time.Duration // from Found to the card; 0: at once
	StaleFor    time.Duration // how long the card showed older facts before this redraw; 0: not for long
	Quiet       bool          // since Attack.Last
	Vuln        string        // title of an incident's vulnerability; "": unknown
	ConsoleURL  string        // "": no link
	Runbook     string        // address; "": none
	Mention     string        // user or user group that the route mentions; "": none
	Suppressed  string        // user or user group that was not mentioned; "": none
	QuietHours  bool          // the reason why it was not
	MentionedAt time.Time     // when the route last mentioned a user; zero: never
	Reposted    bool          // it replaces a card that was deleted or can't be edited
	Uneditable  bool          // with Reposted: the former card still stands
	Triage      record.Triage // owner, notes, verdict
	Page        Page          // state of the route's pager
	Delivery    string        // delivery id, for the metadata
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
		c.Situation.Account = &call.Account{}
	}
	if c.Situation.Storm != nil {
		return c.storm()
	}
	offered := advice.Advise(c.Situation)
	var maker buttonMaker
	buttons, without := c.buttons(&maker, offered)
	first := [][]text.Text{c.headline(), c.figures()}
	first[0] = append(first[0], offered.Denied...)
	var soFar []text.Text
	if line := advice.Mitigations(c.Situation); line != nil {
		soFar = append(soFar, line)
	}
	blocks := paragraphs(append(first, slices.Concat(soFar, c.advice(offered), without), c.people()))
	blocks = append(blocks, actions(buttons...)...)
	// Changes take the room that is left. They stand below the buttons, so that a click doesn't move the buttons.
	room := maxTogether - weight(buttons...) - written(blocks)
	blocks = append(blocks, maker.changes(c.Situation, c.Quiet, room)...)
	return Message{Text: c.notice(offered), Blocks: blocks, Metadata: c.metadata()}
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

// written counts the characters in the blocks' text.
func written(blocks []slack.Block) (n int) {
	for _, b := range blocks {
		if s, ok := b.(*slack.SectionBlock); ok {
			n += length(s.Text.Text)
		}
	}
	return n
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
