package workspace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	splitText  = 4_040 // code points; a longer text without blocks arrives as several messages
	warningCut = "message_truncated"
)

func chatPostMessage(w *webAPI, a args) (answer, error) {
	c, err := w.postable(a["channel"])
	if err != nil {
		return nil, err
	}
	said, err := w.content(a)
	if err != nil {
		return nil, err
	}
	if said.empty() {
		return nil, refuse("no_text")
	}
	if said.thread, err = w.threadOf(c, a["thread_ts"]); err != nil {
		return nil, err
	}
	first := w.postSplit(c, said, a)
	out := answer{"channel": c.ID, "ts": first.TS, "message": w.wire(first, true)}
	if utf8.RuneCountInString(a["text"]) > maxText {
		out["warning"], out["response_metadata"] = warningCut, answer{"warnings": []string{warningCut}}
	}
	return out, nil
}

// postSplit posts as the bot, in pieces where Slack would, and returns the first.
func (w *webAPI) postSplit(c *Channel, said content, a args) *stored {
	var first *stored
	for rest, more := said.text, true; more; {
		piece := said
		if len(said.blocks) == 0 && utf8.RuneCountInString(rest) > splitText {
			piece.text = cut(rest, splitText)
		} else {
			piece.text = rest
		}
		rest = rest[len(piece.text):]
		more = rest != ""
		m := w.add(w.ours(c, piece, a))
		if first == nil {
			first = m
		}
	}
	return first
}

// ours is a message of the bot.
func (w *webAPI) ours(c *Channel, said content, a args) Message {
	return Message{
		Channel: c.ID, ThreadTS: said.thread, User: w.cfg.BotUserID, BotID: w.cfg.BotID,
		Text: said.text, Blocks: said.blocks, Attachments: said.attachments, Metadata: said.metadata,
		Broadcast: said.thread != "" && a.flag("reply_broadcast"),
	}
}

// postable finds the channel to post to, by id or name; a user's id stands for the direct message.
func (w *webAPI) postable(name string) (*Channel, error) {
	c := w.channel(name)
	if c == nil {
		if u, ok := w.user(name); ok && u.ID == name {
			return w.direct(u.ID), nil
		}
		return nil, refuse("channel_not_found")
	}
	switch {
	case c.Private && !c.BotIsMember:
		return nil, refuse("channel_not_found")
	case c.Archived:
		return nil, refuse("is_archived")
	case !c.BotIsMember && !slices.Contains(w.cfg.Scopes, "chat:write.public"):
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

// threadOf is the thread that a message with that thread_ts goes to. It refuses what isn't the ts of a message that begins, or could
// begin, one. When that was deleted and left no reply, the message goes to the channel, without an error: its answer alone shows it.
func (w *messageStore) threadOf(c *Channel, ts string) (string, error) {
	if ts == "" {
		return "", nil
	}
	parent := w.find(c.ID, ts)
	switch {
	case parent == nil && w.wasDeleted(c.ID, ts):
		if len(w.replies(c.ID, ts)) == 0 {
			return "", nil
		}
	case parent == nil || parent.Ephemeral:
		return "", refuse("thread_not_found")
	case parent.ThreadTS != "":
		return "", refuse("cannot_reply_to_message")
	}
	return ts, nil
}

// own finds a message that the bot may change. other is the error for another author's message.
func (w *webAPI) own(a args, other string) (*stored, *Channel, error) {
	c := w.channel(a["channel"])
	if c == nil || c.ID != a["channel"] || c.Private && !c.BotIsMember {
		return nil, nil, refuse("channel_not_found")
	}
	m := w.find(c.ID, a["ts"])
	if m == nil || m.Ephemeral {
		return nil, nil, refuse("message_not_found")
	}
	if m.BotID != w.cfg.BotID {
		return nil, nil, refuse(other)
	}
	return m, c, nil
}

// shortContent is the content of an edit or an ephemeral message. They are refused where a post would be split.
func (w *webAPI) shortContent(a args) (content, error) {
	said, err := w.content(a)
	switch {
	case err != nil:
		return content{}, err
	case utf8.RuneCountInString(a["text"]) > maxUpdateText:
		return content{}, refuse("msg_too_long")
	case said.empty():
		return content{}, refuse("no_text")
	}
	return said, nil
}

func chatUpdate(w *webAPI, a args) (answer, error) {
	m, c, err := w.own(a, "cant_update_message")
	if err != nil {
		return nil, err
	}
	if c.Archived {
		return nil, refuse("is_inactive")
	}
	said, err := w.shortContent(a)
	if err != nil {
		return nil, err
	}
	w.rewrite(m, said, a)
	return answer{"channel": c.ID, "ts": m.TS, "text": m.Text, "message": w.wire(m, true)}, nil
}

// farthest is how far ahead a message can be scheduled.
const farthest = 120 * 24 * time.Hour

// chatScheduleMessage posts at a moment, in whole seconds, unless the workspace is closed before.
func chatScheduleMessage(w *webAPI, a args) (answer, error) {
	seconds, err := strconv.ParseInt(a["post_at"], 10, 64)
	if err != nil {
		return nil, refuse("invalid_time")
	}
	c, err := w.postable(a["channel"])
	if err != nil {
		return nil, err
	}
	said, err := w.content(a)
	in := time.Unix(seconds, 0).Sub(w.cfg.Now())
	switch {
	case err != nil:
		return nil, err
	case said.empty():
		return nil, refuse("no_text")
	case in <= 0:
		return nil, refuse("time_in_past")
	case in > farthest:
		return nil, refuse("time_too_far")
	}
	if said.thread, err = w.threadOf(c, a["thread_ts"]); err != nil {
		return nil, err
	}
	w.running.Go(func() {
		if sleep(w.ctx, in) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.postSplit(c, said, a)
		}
	})
	return answer{"channel": c.ID, "scheduled_message_id": w.nextID("Q"), "post_at": seconds}, nil
}

// rewrite changes the content of a message. Text alone removes the blocks; metadata and attachments stay unless given.
func (w *messageStore) rewrite(m *stored, said content, a args) {
	before := *m
	m.Text, m.Blocks = said.text, said.blocks
	if a.has("attachments") {
		m.Attachments = said.attachments
	}
	if a.has("metadata") {
		m.Metadata = said.metadata
	}
	m.Edited++
	if !m.Ephemeral {
		w.emitEdited(m, before)
	}
	w.notify()
}

func chatPostEphemeral(w *webAPI, a args) (answer, error) {
	c, err := w.postable(a["channel"])
	if err != nil {
		return nil, err
	}
	u, ok := w.user(a["user"])
	if !ok || u.ID != a["user"] || u.Deleted || !c.has(u.ID) {
		return nil, refuse("user_not_in_channel")
	}
	said, err := w.shortContent(a)
	if err != nil {
		return nil, err
	}
	if said.thread, err = w.threadOf(c, a["thread_ts"]); err != nil {
		return nil, err
	}
	m := w.postEphemeral(w.ours(c, said, a), u.ID)
	return answer{"message_ts": m.TS}, nil
}

// postEphemeral posts a message that only one user sees.
func (w *messageStore) postEphemeral(m Message, user string) *stored {
	m.Ephemeral, m.EphemeralFor, m.Broadcast = true, user, false
	return w.add(m)
}

func chatGetPermalink(w *webAPI, a args) (answer, error) {
	c := w.channel(a["channel"])
	if c == nil || c.ID != a["channel"] || c.Private && !c.BotIsMember {
		return nil, refuse("channel_not_found")
	}
	m := w.find(c.ID, a["message_ts"])
	if m == nil || m.Ephemeral {
		return nil, refuse("message_not_found")
	}
	link := fmt.Sprintf("https://%s.slack.com/archives/%s/p%s", w.domain(), c.ID, strings.ReplaceAll(m.TS, ".", ""))
	return answer{"channel": c.ID, "permalink": link}, nil
}
