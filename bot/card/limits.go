package card

import (
	"cmp"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/internal/text"
)

// Slack's limits in characters, as length counts them. There is a margin where Slack doesn't document how it counts.
const (
	maxText        = 2_900 // of one text object; Slack takes 3,000
	maxTogether    = 9_800 // of all texts of a message's blocks; Slack takes about 12,000
	maxBlocks      = 50    // of a message
	maxCardLine    = 280
	maxChangeLine  = 700
	maxAnswerText  = 1_000
	maxNotice      = 120 // a phone shows no more
	maxLabel       = 75
	maxValue       = 2_000
	maxURL         = 3_000
	maxLineURL     = 300 // of a link in a card's line
	maxDialogTitle = 100
	maxDialogText  = 300
	maxDialogOK    = 30
)

// plainText is text without markup. It is never empty, because Slack refuses empty text.
func plainText(s string, limit int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, cmp.Or(text.Sanitize(s, limit), "…"), false, false)
}

// markupText is text in Slack's markup. It is verbatim, so that Slack makes no links or mentions of plain words.
func markupText(markup string) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.MarkdownType, cmp.Or(markup, "…"), false, true)
}

func section(markup string, accessory *slack.ButtonBlockElement) slack.Block {
	b := slack.NewSectionBlock(markupText(markup), nil, nil)
	if accessory != nil {
		b.Accessory = slack.NewAccessory(accessory)
	}
	return b
}

func actions(buttons []*slack.ButtonBlockElement) slack.Block {
	elements := make([]slack.BlockElement, len(buttons))
	for i, b := range buttons {
		elements[i] = b
	}
	return slack.NewActionBlock("", elements...)
}

// weight counts the characters of buttons, including their confirms.
func weight(buttons ...*slack.ButtonBlockElement) int {
	n := 0
	for _, b := range buttons {
		n += length(b.Text.Text)
		if c := b.Confirm; c != nil {
			n += length(c.Title.Text) + length(c.Text.Text) + length(c.Confirm.Text) + length(c.Deny.Text)
		}
	}
	return n
}

// length counts characters as strictly as Slack might.
func length(s string) int { return text.Length(s) }
