package workspace

import (
	"fmt"
	"slices"
)

func chatDelete(w *webAPI, a args) (answer, error) {
	m, c, err := w.own(a, "cant_delete_message")
	if err != nil {
		return nil, err
	}
	if c.Archived {
		return nil, refuse("is_archived")
	}
	w.erase(m)
	return answer{"channel": c.ID, "ts": m.TS}, nil
}

// Delete takes away a message that a person (name or id) sees in a channel (id or #name), as its author or an owner of the
// workspace does: the bot isn't told, and replies stay.
func (w *messageStore) Delete(user, channel, ts string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.speaker(user, channel)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	m := w.find(c.ID, ts)
	if m == nil || m.Ephemeral {
		return fmt.Errorf("delete: %s sees no message %s in #%s that everybody sees", u.Name, ts, c.Name)
	}
	w.erase(m)
	return nil
}

func (w *messageStore) erase(m *stored) {
	m.deleted = true
	w.notify()
}

// deletedMessage is what stood at a ts; nil: nothing did, or it stands there still.
func (w *messageStore) deletedMessage(channel, ts string) *stored {
	i := slices.IndexFunc(w.messages, func(m *stored) bool { return m.Channel == channel && m.TS == ts && m.deleted })
	if i < 0 {
		return nil
	}
	return w.messages[i]
}

func (w *messageStore) wasDeleted(channel, ts string) bool {
	return w.deletedMessage(channel, ts) != nil
}

// leftReplies reports whether a deleted message began a thread that is still there: then Slack shows that something stood here.
func (w *messageStore) leftReplies(m *stored) bool { return len(w.replies(m.Channel, m.TS)) > 0 }

// tombstone is what the Web API tells of a deleted message that left replies.
func (w *messageStore) tombstone(m *stored) answer {
	out := answer{"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": m.TS, "text": "This message was deleted."}
	w.wireThread(m, out)
	return out
}
