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
	Outage      record.Outage // in which no figures can be read; zero: they can
	Found       time.Time     // when it was first found to be told; zero: unknown
	Late        time.Duration // how long after that it was told; 0: at once
	StaleFor    time.Duration // how long the card had shown older facts when it was drawn; 0: not for long
	Quiet       bool          // since Attack.Last
	Vuln        string        // title of an incident's vulnerability; "": unknown
	ConsoleURL  string        // "": no link
	Runbook     string        // likewise
	Mention     string        // the user or user group that the route calls; "": nobody
	Suppressed  string        // whom it would call, but nobody was
	QuietHours  bool          // because it was quiet hours
	MentionedAt time.Time     // when somebody was, before; zero: never
	Reposted    bool          // it took the place of a card that is gone
	Uneditable  bool          // or that stands, and can't be edited any more: then it is posted anew, too
	Triage      record.Triage // who is on it, and what people said about it
	Page        Page          // whether the route's pager is called
	Delivery    string        // delivery id, for the metadata
}

// Message is what is posted.
type Message struct {
	Text     string // for notifications and for those who can't see blocks
	Blocks   []slack.Block
	Metadata slack.SlackMetadata
}

// Options are a message's text and blocks. Links are not unfolded: an attacker's address would be fetched and shown.
func (m Message) Options() []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// Render draws a card: what happens, what was done, what can be done. It is pure: the same card gives the same message.
func Render(c Card) Message {
	if c.Situation.Account == nil {
		c.Situation.Account = &call.Account{}
	}
	offered := advice.Advise(c.Situation)
	var maker buttonMaker
	buttons, without := maker.card(c, offered)
	first, last, advised, notice := [][]text.Text{c.headline(), c.figures()}, [][]text.Text(nil), c.advice, c.notice
	if c.Situation.Storm != nil {
		first, last, advised, notice = [][]text.Text{c.stormHeadline()}, c.stormFacts(), c.stormAdvice, c.stormNotice
	}
	first[0] = append(first[0], offered.Shut...)
	var soFar []text.Text
	if line := advice.Standing(c.Situation); line != nil {
		soFar = append(soFar, line)
	}
	blocks := paragraphs(append(first, slices.Concat(soFar, advised(offered), without), c.people()))
	if len(buttons) > 0 {
		blocks = append(blocks, actions(buttons))
	}
	below := paragraphs(last)
	// What was done takes the room that the rest leaves. It stands below the buttons, which so stay under the thumb that clicked one.
	room := maxTogether - weight(buttons...) - written(blocks) - written(below)
	blocks = slices.Concat(blocks, maker.changes(c.Situation, c.Quiet, room), below)
	return Message{Text: notice(offered), Blocks: blocks, Metadata: c.metadata()}
}

// paragraphs are blocks of text, one of each that has lines.
func paragraphs(all [][]text.Text) (blocks []slack.Block) {
	for _, lines := range all {
		if text := paragraph(lines); text != "" {
			blocks = append(blocks, section(text, nil))
		}
	}
	return blocks
}

// written is how many characters the blocks' text has.
func written(blocks []slack.Block) (n int) {
	for _, b := range blocks {
		if s, ok := b.(*slack.SectionBlock); ok {
			n += length(s.Text.Text)
		}
	}
	return n
}

// paragraph is lines of a card in Slack's markup.
func paragraph(lines []text.Text) string {
	var markups []string
	for _, line := range lines {
		markups = append(markups, fit(line, maxCardLine+unseen(line)))
	}
	return strings.Join(markups, "\n")
}

// unseen is about how many characters of a line's markup nobody sees.
func unseen(line text.Text) int {
	n := 0
	for _, s := range line {
		if !s.Moment().IsZero() {
			n += 50
		}
		if s.Link.URL != "" {
			n += length(address(s.Link))
		}
	}
	return n
}
