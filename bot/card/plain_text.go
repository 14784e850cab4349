package card

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/internal/text"
)

// WithoutFacts drops the metadata except the delivery.
func (m Message) WithoutFacts() Message {
	carried := m.Metadata.EventPayload
	m.Metadata = slack.SlackMetadata{EventType: MetaMessage, EventPayload: map[string]any{}}
	if delivery, ok := carried["delivery"]; ok {
		m.Metadata.EventPayload["delivery"] = delivery
	}
	return m
}

// AsText is the message without blocks; command is the slash command to type instead of a button.
func (m Message) AsText(command string) Message {
	return Message{Text: m.plain(command), Metadata: m.Metadata}
}

// maxPlain is how many characters are sent without blocks. Over 4,000 Slack splits the message, or refuses an edit.
const maxPlain = 3_500

// plain is the notification, the blocks' text, and for each button the line to type.
func (m Message) plain(command string) string {
	var said, types []string
	for _, block := range m.Blocks {
		switch block := block.(type) {
		case *slack.SectionBlock:
			if block.Text != nil {
				said = append(said, strings.Split(block.Text.Text, "\n")...)
			}
			if block.Accessory != nil {
				types = append(types, toTypeFor(command, block.Accessory.ButtonElement)...)
			}
		case *slack.ActionBlock:
			for _, element := range block.Elements.ElementSet {
				button, _ := element.(*slack.ButtonBlockElement)
				types = append(types, toTypeFor(command, button)...)
			}
		}
	}
	const lost = "*Slack refused the buttons of this message.*"
	types = firstOf(append([]string{lost}, types...), maxPlain/2)
	text := append([]string{m.Text}, firstOf(said, maxPlain-length(m.Text)-length(strings.Join(types, "\n"))-2)...)
	return strings.Join(append(text, types...), "\n")
}

// firstOf returns the first lines that fit into room characters.
func firstOf(lines []string, room int) []string {
	for i, line := range lines {
		if room -= length(line) + 1; room < 0 {
			return lines[:i]
		}
	}
	return lines
}

// toTypeFor is the line to type in place of a button; none for a button that runs no line.
func toTypeFor(command string, b *slack.ButtonBlockElement) []string {
	if b == nil || b.Value == "" {
		return nil
	}
	switch kind, _, _ := strings.Cut(b.ActionID, ":"); kind {
	case ActionDo, ActionForm, ActionAnyway, ActionMore:
		return []string{mrkdwn(text.New(text.Sanitize(b.Text.Text, maxLabel), ": ", text.Code(command+" "+b.Value)))}
	}
	return nil
}
