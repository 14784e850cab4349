package card

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Event types of message metadata. Each message carries its delivery; those below also carry what state is rebuilt from
// after Redis was emptied. Every member of the channel can read it.
const (
	MetaMessage = "wafbot_message" // any other message
	MetaStart   = "wafbot_start"   // an account's first start
	MetaCard    = "wafbot_card"
	MetaWorse   = "wafbot_worse" // a reply: the card above may be redrawn later
	MetaChange  = "wafbot_change"
)

// metadataVersion is the form of the metadata of cards and messages. Another one is ignored when state is rebuilt: its
// words may mean something else.
const metadataVersion = "2"

// Slack takes about a kilobyte in all.
const (
	maxMeta    = 40  // of each text, in characters
	maxPayload = 850 // of all but the delivery, in bytes of JSON
)

// bounded drops values until Slack takes the metadata. A card without the service's id of its attack can't be rebuilt.
func bounded(kind string, payload map[string]any) slack.SlackMetadata {
	for _, name := range []string{"attackid", "mention"} {
		if text, err := json.Marshal(payload); err == nil && len(text) <= maxPayload {
			break
		}
		delete(payload, name)
	}
	return slack.SlackMetadata{EventType: kind, EventPayload: payload}
}

// accountMeta is metadata of a message about an account.
func accountMeta(account string) map[string]any {
	return map[string]any{"version": metadataVersion, "account": text.Sanitize(account, maxMeta)}
}

// attackMeta are the facts of an attack that a message shows. A card's metadata adds to them.
func attackMeta(account, id string, a apiclient.Attack) map[string]any {
	payload := accountMeta(account)
	payload["attack"], payload["kind"], payload["status"], payload["attackid"] = text.Sanitize(id, maxMeta), "attack",
		string(a.Status()), a.ID
	if a.Incident() {
		payload["kind"] = "incident"
	}
	if record.IsStorm(a.ID) {
		payload["kind"] = "storm"
	}
	if a.Hits.Known {
		payload["hits_decade"] = len(strconv.FormatInt(max(a.Hits.N, 0), 10))
	}
	return payload
}

// metadata is what a card's message carries, so that it can be found and its state rebuilt.
func (c drawing) metadata() slack.SlackMetadata {
	payload := attackMeta(c.Account.Name, c.ID, c.Attack)
	if c.Severity != "" {
		payload["severity"] = string(c.Severity)
	}
	payload["quiet"], payload["delivery"] = c.Quiet, text.Sanitize(c.Delivery, maxMeta)
	if c.Mention != "" {
		payload["mention"] = text.Sanitize(c.Mention, maxMeta)
	}
	return bounded(MetaCard, payload)
}

// ReadAttack decodes attackMeta and a card's metadata. ok is false if it isn't about an attack of the account, or of
// another version.
func ReadAttack(account string, payload map[string]any) (id string, f record.CardMetadata, ok bool) {
	text := func(name string) string { s, _ := payload[name].(string); return s }
	decade, _ := payload["hits_decade"].(float64)
	quiet, _ := payload["quiet"].(bool)
	id = text("attack")
	f = record.CardMetadata{
		AttackID: text("attackid"), Incident: text("kind") == "incident", Status: apiclient.Status(text("status")),
		Decade: max(int(decade), 0), Quiet: quiet,
		Mention: text("mention"), Severity: record.Worst(record.Severity(text("severity"))),
	}
	// The short id is a hash of the service's id: an id that was cut or altered doesn't match.
	return id, f, text("version") == metadataVersion && f.AttackID != "" && id == record.AttackID(account, f.AttackID)
}

// WithDelivery adds the delivery to the message's metadata, so that the message can be found by it, and the message's
// account.
func (m Message) WithDelivery(account, delivery string) Message {
	m.Metadata.EventType = cmp.Or(m.Metadata.EventType, MetaMessage)
	payload := maps.Clone(m.Metadata.EventPayload)
	if payload == nil {
		payload = map[string]any{}
	}
	if payload["delivery"] = delivery; account != "" {
		payload["account"] = account
	}
	m.Metadata.EventPayload = payload
	return m
}

// WithoutFacts drops the metadata except the delivery.
func (m Message) WithoutFacts() Message {
	carried := m.Metadata.EventPayload
	m.Metadata = slack.SlackMetadata{EventType: MetaMessage, EventPayload: map[string]any{}}
	if delivery, ok := carried["delivery"]; ok {
		m.Metadata.EventPayload["delivery"] = delivery
	}
	return m
}

// AsText is the message without blocks; command is the slash command to type instead of a button. Slack makes links of
// bare host names in such a text: they stand there as code.
func (m Message) AsText(command string) Message {
	return Message{Text: m.plain(command), Metadata: m.Metadata}
}

// maxPlain is how many characters are sent without blocks. Over 4,000 Slack splits the message, or refuses an edit.
const maxPlain = 3_500

// plain is the notification, the blocks' text, and for each button the line to type.
func (m Message) plain(command string) string {
	var said []string
	for _, block := range m.Blocks {
		switch b := block.(type) {
		case *slack.SectionBlock:
			if b.Text != nil {
				for line := range strings.SplitSeq(b.Text.Text, "\n") {
					said = append(said, unlinked(line))
				}
			}
		case *slack.ContextBlock:
			for _, e := range b.ContextElements.Elements {
				if small, ok := e.(*slack.TextBlockObject); ok {
					said = append(said, unlinked(small.Text))
				}
			}
		}
	}
	types := []string{"*Slack refused the buttons of this message.*"}
	for _, b := range buttonsOf(m.Blocks) {
		switch kind, _, _ := strings.Cut(b.ActionID, ":"); kind {
		case ActionDo, ActionForm, ActionAnyway, ActionMore:
			types = append(types, unlinked(mrkdwn(text.Newf("%v: `%v %v`",
				text.Sanitize(b.Text.Text, maxLabel), command, b.Value))))
		}
	}
	types = firstOf(types, maxPlain/2)
	notice := unlinked(m.Text)
	text := append([]string{notice}, firstOf(said, maxPlain-length(notice)-length(strings.Join(types, "\n"))-2)...)
	return strings.Join(append(text, types...), "\n")
}

var (
	markedUp = regexp.MustCompile("`[^`]*`|<[^<>]*>") // code and Slack's tokens: Slack makes no further links in them
	hostName = regexp.MustCompile(`[^\s*([]*[\pL\pN]\.\pL{2}[^\s*)\]]*`)
	bold     = regexp.MustCompile(`\*[^*]*\*`)
)

// unlinked writes the bare host names in a line of markup as code.
func unlinked(line string) string {
	var b strings.Builder
	for line != "" {
		next := markedUp.FindStringIndex(line)
		if next == nil {
			next = []int{len(line), len(line)}
		}
		words := bold.ReplaceAllStringFunc(line[:next[0]], func(span string) string {
			if hostName.MatchString(span) {
				return strings.Trim(span, "*") // code beside a star isn't code
			}
			return span
		})
		b.WriteString(hostName.ReplaceAllStringFunc(words, func(word string) string {
			host := strings.TrimRight(word, ",.;:!?")
			return "`" + host + "`" + word[len(host):]
		}))
		b.WriteString(line[next[0]:next[1]])
		line = line[next[1]:]
	}
	return b.String()
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
