package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

// Message is a message as the workspace keeps it.
type Message struct {
	Channel      string          `json:"channel"` // id
	TS           string          `json:"ts"`
	ThreadTS     string          `json:"thread_ts,omitempty"` // of the parent, for a reply
	User         string          `json:"user"`                // id
	BotID        string          `json:"bot_id,omitempty"`
	Text         string          `json:"text"` // as sent, with its escapes
	Blocks       json.RawMessage `json:"blocks,omitempty"`
	Attachments  json.RawMessage `json:"attachments,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	ClientMsgID  string          `json:"client_msg_id,omitempty"` // of a person's message
	Edited       int             `json:"edited"`                  // number of updates
	Ephemeral    bool            `json:"ephemeral"`
	EphemeralFor string          `json:"ephemeral_for,omitempty"` // user id
	Gone         bool            `json:"gone"`                    // an ephemeral message that was deleted
	Answers      string          `json:"answers,omitempty"`       // the response URL that it came by, or was last replaced by
	Broadcast    bool            `json:"broadcast"`               // a reply that is shown in the channel too
}

// stored is a message with its internal state.
type stored struct {
	Message
	editedTS  string  // of the last edit
	posted    Message // as it was before any edit
	deleted   bool
	reactions []string // the bot's
	hidden    bool     // over the limit of messages: the Web API lists it, people don't see it
}

// Messages lists the messages of a channel (id or #name) without ephemeral ones, replies included, in the order of posting.
func (w *messageStore) Messages(channel string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil {
		return nil
	}
	return w.pick(func(m *stored) bool { return m.Channel == c.ID && !m.Ephemeral && !m.deleted && !m.hidden })
}

// Hidden is how many of the bot's messages in a channel (id or #name) people don't see, because there were too many in a minute.
func (w *messageStore) Hidden(channel string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(channel)
	if c == nil {
		return 0
	}
	return len(w.pick(func(m *stored) bool { return m.Channel == c.ID && m.hidden && !m.deleted }))
}

// Ephemerals lists the ephemeral messages of a user (name or id), newest last. Deleted ones are Gone but listed.
func (w *messageStore) Ephemerals(user string) []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.user(user)
	if !ok {
		return nil
	}
	return w.pick(func(m *stored) bool { return m.Ephemeral && m.EphemeralFor == u.ID })
}

func (w *messageStore) pick(ok func(*stored) bool) []Message {
	var found []Message
	for _, m := range w.messages {
		if ok(m) {
			found = append(found, m.Message)
		}
	}
	return found
}

// add stores a message under a new timestamp.
func (w *messageStore) add(m Message) *stored {
	m.TS = w.nextTS()
	kept := &stored{Message: m, posted: m, hidden: m.BotID != "" && !m.Ephemeral && w.hides()}
	w.messages = append(w.messages, kept)
	if !m.Ephemeral {
		w.emitPosted(kept)
	}
	w.notify()
	return kept
}

// find finds a message that was not deleted, ephemeral ones included. It returns nil when there is none.
func (w *messageStore) find(channel, ts string) *stored {
	i := slices.IndexFunc(w.messages, func(m *stored) bool {
		return m.Channel == channel && m.TS == ts && !m.deleted && !m.Gone
	})
	if i < 0 {
		return nil
	}
	return w.messages[i]
}

// nextTS is the time in microseconds. It is unique and never goes back.
func (w *core) nextTS() string {
	w.lastTS = max(w.cfg.Now().UnixMicro(), w.lastTS+1)
	return fmt.Sprintf("%d.%06d", w.lastTS/1e6, w.lastTS%1e6)
}

// nextID is a new id such as V0000001.
func (w *core) nextID(letter string) string {
	w.serial++
	return fmt.Sprintf("%s%07d", letter, w.serial)
}

// compact is JSON without spaces. "" and null are nil.
func compact(raw string) json.RawMessage {
	var out bytes.Buffer
	if strings.TrimSpace(raw) == "" || json.Compact(&out, []byte(raw)) != nil || out.String() == "null" {
		return nil
	}
	return out.Bytes()
}

// Plain is all text that a person sees in a message, one line per block. The message's own text is shown only without blocks.
func (m Message) Plain() string {
	var lines []string
	if len(m.Blocks) == 0 && m.Text != "" {
		lines = append(lines, blockkit.Unescape(m.Text))
	}
	for _, block := range m.allBlocks() {
		if line := blockkit.Plain(block); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Buttons lists what can be clicked in a message, in order; the options of an overflow menu one by one.
func (m Message) Buttons() []blockkit.Button { return blockkit.Buttons(blockkit.Parts(m.allBlocks())) }

// allBlocks lists the blocks of the message and of its attachments. An attachment's plain text is a block, too.
func (m Message) allBlocks() []map[string]any {
	var blocks []map[string]any
	_ = json.Unmarshal(m.Blocks, &blocks) // checked when stored
	var attachments []struct {
		Pretext, Title, Text string
		Blocks               []map[string]any
	}
	_ = json.Unmarshal(m.Attachments, &attachments)
	for _, a := range attachments {
		for _, text := range []string{a.Pretext, a.Title, a.Text} {
			if text != "" {
				blocks = append(blocks, map[string]any{"type": "mrkdwn", "text": text})
			}
		}
		blocks = append(blocks, a.Blocks...)
	}
	return blocks
}
