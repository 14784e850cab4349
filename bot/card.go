package bot

import (
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// Card is everything that a card shows.
type Card struct {
	Situation  commands.Situation
	FiguresAt  time.Time // when the attack's figures were read, or found unchanged, on the service's clock; zero: unknown
	Course     []poller.Point
	Blind      commands.Spell // in which no figures can be read; zero: they can
	Found      time.Time      // when it was first found to be told; zero: unknown
	Late       time.Duration  // how long after that it was told; 0: at once
	Behind     time.Duration  // how long the card had shown older facts when it was drawn; 0: not for long
	Quiet      bool           // since Attack.Last
	Vuln       string         // title of an incident's vulnerability; "": unknown
	ConsoleURL string         // "": no link
	Runbook    string         // likewise
	Mention    string         // the user or user group that the route calls; "": nobody
	Spared     string         // whom it would call, but nobody was
	Hushed     bool           // because it was quiet hours
	Anew       bool           // it took the place of a card that is gone
	Case       commands.Case  // who is on it, and what people said about it
	Page       PageNow        // whether the route's pager is called
	Delivery   string         // delivery id, for the metadata
}

// Message is what is posted.
type Message struct {
	Text     string // for notifications and for those who can't see blocks
	Blocks   []slack.Block
	Metadata slack.SlackMetadata
}

// render draws a card: what happens, what was done, what can be done. It is pure: the same card gives the same message.
func render(c Card) Message {
	if c.Situation.Account == nil {
		c.Situation.Account = &commands.Account{}
	}
	advice := commands.Advise(c.Situation)
	var maker buttonMaker
	buttons, without := maker.card(c, advice)
	what, advised, notice := [][]commands.Text{c.headline(), c.figures()}, c.advice, c.notice
	if c.Situation.Storm != nil {
		what, advised, notice = c.stormFacts(), c.stormAdvice, c.stormNotice
	}
	todo, who := paragraph(append(advised(advice), without...)), paragraph(c.people())
	// What was done takes the room that the rest leaves.
	room := maxTogether - runes(todo+who) - weight(buttons...)
	var blocks []slack.Block
	for _, lines := range what {
		text := paragraph(lines)
		room -= runes(text)
		blocks = append(blocks, section(text, nil))
	}
	blocks = append(blocks, maker.changes(c.Situation, c.Quiet, room)...)
	if todo != "" {
		blocks = append(blocks, section(todo, nil))
	}
	blocks = append(blocks, section(who, nil))
	if len(buttons) > 0 {
		blocks = append(blocks, actions(buttons))
	}
	return Message{Text: notice(advice), Blocks: blocks, Metadata: c.metadata()}
}

// paragraph is lines of a card in Slack's markup.
func paragraph(lines []commands.Text) string {
	var markups []string
	for _, line := range lines {
		markups = append(markups, fit(line, maxCardLine+unseen(line)))
	}
	return strings.Join(markups, "\n")
}

// unseen is about how many characters of a line's markup nobody sees.
func unseen(line commands.Text) int {
	n := 0
	for _, s := range line {
		if !s.Moment().IsZero() {
			n += 50
		}
		if s.Link.URL != "" {
			n += runes(address(s.Link))
		}
	}
	return n
}
