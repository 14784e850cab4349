package workspace

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

// wire is a message as the Web API and clicks have it; without allMetadata only the metadata's type.
func (w *messageStore) wire(m *stored, allMetadata bool) answer {
	if m.deleted {
		return w.tombstone(m)
	}
	out := answer{"type": "message", "user": m.User, "ts": m.TS, "text": m.Text, "team": w.cfg.TeamID}
	if author, ok := w.user(m.User); ok && author.TeamID != w.cfg.TeamID {
		out["team"], out["user_team"], out["source_team"] = author.TeamID, author.TeamID, author.TeamID
	}
	if m.ClientMsgID != "" {
		out["client_msg_id"] = m.ClientMsgID
	}
	if m.BotID != "" {
		out["bot_id"], out["app_id"], out["bot_profile"] = m.BotID, w.cfg.AppID, w.botProfile()
	}
	switch {
	case len(m.Blocks) > 0:
		out["blocks"] = m.Blocks
	case m.BotID == "":
		out["blocks"] = richText(m)
	}
	if len(m.Blocks) == 0 && m.Edited > 0 {
		out["edited"] = answer{"user": m.User, "ts": m.editedTS}
	}
	if len(m.Attachments) > 0 {
		out["attachments"] = m.Attachments
	}
	if len(m.Metadata) > 0 {
		out["metadata"] = shownMetadata(m.Metadata, allMetadata)
	}
	w.wireThread(m, out)
	return out
}

// typedToken is what Slack makes of a user, a channel or an address in what a person typed.
var typedToken = regexp.MustCompile(`<([^<>|]+)(?:\|([^<>]*))?>`)

// richText is what a person typed as the blocks that Slack's clients send with it.
func richText(m *stored) []answer {
	var elements []answer
	words := func(s string) {
		if s != "" {
			elements = append(elements, answer{"type": "text", "text": blockkit.Unescape(s)})
		}
	}
	rest := m.Text
	for _, token := range typedToken.FindAllStringSubmatch(m.Text, -1) {
		before, after, _ := strings.Cut(rest, token[0])
		words(before)
		elements, rest = append(elements, typedElement(token[1], token[2])), after
	}
	words(rest)
	section := answer{"type": "rich_text_section", "elements": elements}
	return []answer{{"type": "rich_text", "block_id": "t" + strings.ReplaceAll(m.TS, ".", ""), "elements": []answer{section}}}
}

func typedElement(of, shown string) answer {
	switch {
	case strings.HasPrefix(of, "@"):
		return answer{"type": "user", "user_id": of[1:]}
	case strings.HasPrefix(of, "#"):
		return answer{"type": "channel", "channel_id": of[1:]}
	case strings.HasPrefix(of, "!subteam^"):
		return answer{"type": "usergroup", "usergroup_id": strings.TrimPrefix(of, "!subteam^")}
	case strings.HasPrefix(of, "!"):
		return answer{"type": "broadcast", "range": of[1:]}
	}
	link := answer{"type": "link", "url": blockkit.Unescape(of)}
	if shown != "" {
		link["text"] = blockkit.Unescape(shown)
	}
	return link
}

func (w *messageStore) wireThread(m *stored, out answer) {
	if m.ThreadTS != "" {
		out["thread_ts"] = m.ThreadTS
		out["parent_user_id"] = tombstoneUser
		if parent := w.find(m.Channel, m.ThreadTS); parent != nil {
			out["parent_user_id"] = parent.User
		}
		if m.Broadcast {
			out["subtype"] = "thread_broadcast"
		}
		return
	}
	if replies := w.replies(m.Channel, m.TS); len(replies) > 0 {
		out["thread_ts"], out["reply_count"] = m.TS, len(replies)
		out["latest_reply"] = replies[len(replies)-1].TS
		users := authors(replies)
		out["reply_users"], out["reply_users_count"] = users[:min(len(users), listedRepliers)], len(users)
	}
}

// listedRepliers is how many authors of replies a parent lists.
const listedRepliers = 5

// authors lists who wrote messages, each once, in the order of their first one.
func authors(messages []*stored) []string {
	var users []string
	for _, m := range messages {
		if !slices.Contains(users, m.User) {
			users = append(users, m.User)
		}
	}
	return users
}

func shownMetadata(raw json.RawMessage, all bool) any {
	if all {
		return raw
	}
	var short struct {
		EventType string `json:"event_type"`
	}
	_ = json.Unmarshal(raw, &short) // checked when stored
	return short
}
