package workspace

import (
	"regexp"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

// Notice is a phone's notification of another user's message.
type Notice struct {
	Channel  string `json:"channel"` // id
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts,omitempty"`
	User     string `json:"user"` // id of the author
	Text     string `json:"text"` // on the lock screen: the message's text as posted, with its escapes
	// Why the phone rings: direct, mention, group (the person is in it), everyone (@channel, @here), thread (a reply where the person
	// wrote or was mentioned); "": it doesn't, the channel only counts as unread.
	Why string `json:"why"`
	// Edits is how often the message was changed since. Edits notify no phone.
	Edits int `json:"edits"`
}

// Notices lists the notifications on the phone of a person (name or id), oldest first, with Slack's default settings. A mention counts where the
// message shows it: not in attachments, and in the text only without blocks.
func (w *messageStore) Notices(user string) []Notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.user(user)
	if !ok {
		return nil
	}
	var found []Notice
	follows := map[string]bool{} // threads, by channel and ts
	for _, m := range w.messages {
		c := w.channel(m.Channel)
		if m.Ephemeral || m.hidden || !c.has(u.ID) {
			continue
		}
		why := w.whyRings(m.posted, u.ID)
		thread := m.Channel + " " + m.ThreadTS
		if m.ThreadTS == "" {
			thread = m.Channel + " " + m.TS
		} else if why == "" && follows[thread] {
			why = "thread"
		}
		if m.User == u.ID || why == "mention" {
			follows[thread] = true
		}
		if m.User != u.ID && !m.deleted {
			found = append(found, Notice{m.Channel, m.TS, m.ThreadTS, m.User, m.posted.Text, why, m.Edited})
		}
	}
	return found
}

var called = regexp.MustCompile(`<([@!])([^<>|]+)(?:\|[^<>]*)?>`)

// whyRings is why a message alone, without its thread, makes a person's phone ring.
func (w *messageStore) whyRings(m Message, user string) string {
	if strings.HasPrefix(m.Channel, "D") {
		return "direct"
	}
	why := ""
	for _, token := range called.FindAllStringSubmatch(m.shownMarkup(), -1) {
		group, isGroup := strings.CutPrefix(token[2], "subteam^")
		switch {
		case token[1] == "@" && token[2] == user:
			return "mention"
		case token[1] == "!" && isGroup && w.isInGroup(user, group):
			why = "group"
		case token[1] == "!" && slices.Contains([]string{"channel", "here", "everyone"}, token[2]) && why == "":
			why = "everyone"
		}
	}
	return why
}

func (w *people) isInGroup(user, group string) bool {
	return slices.ContainsFunc(w.groups, func(g UserGroup) bool {
		return g.ID == group && !g.Disabled && slices.Contains(g.Users, user)
	})
}

// shownMarkup is all markup that a message shows outside of attachments.
func (m Message) shownMarkup() string {
	if len(m.Blocks) == 0 {
		return m.Text
	}
	m.Attachments = nil
	var parts []string
	for _, block := range m.allBlocks() {
		parts = append(parts, blockkit.Markup(block)...)
	}
	return strings.Join(parts, "\n")
}
