package card

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/internal/text"
)

// WithoutFacts is the message without what it carries beside its delivery.
func (m Message) WithoutFacts() Message {
	carried := m.Metadata.EventPayload
	m.Metadata = slack.SlackMetadata{EventType: MetaMessage, EventPayload: map[string]any{}}
	if delivery, ok := carried["delivery"]; ok {
		m.Metadata.EventPayload["delivery"] = delivery
	}
	return m
}

// AsText is the message in text alone.
func (m Message) AsText(command string) Message {
	return Message{Text: m.plain(command), Metadata: m.Metadata}
}

// maxPlain is how much of a message without blocks is sent, in characters; over 4,000 Slack makes several of it, or refuses an edit.
const maxPlain = 3_500

// plain is a message in text alone: the notification, what its blocks say, and for each button what to type.
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

// firstOf are the first lines that together have room, in characters.
func firstOf(lines []string, room int) []string {
	for i, line := range lines {
		if room -= length(line) + 1; room < 0 {
			return lines[:i]
		}
	}
	return lines
}

// toTypeFor is what to type in place of a button; nothing for one that runs no line.
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
