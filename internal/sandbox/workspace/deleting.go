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

// Delete deletes a message as a person (name or id) in a channel (id or #name), as its author or an owner of the workspace does. The bot gets an
// event in the background, and replies stay.
func (w *messageStore) Delete(user, channel, ts string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.speaker(user, channel)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	m := w.find(c.ID, ts)
	if m == nil || m.Ephemeral {
		return fmt.Errorf("delete: %s sees no message %s in #%s that can be deleted", u.Name, ts, c.Name)
	}
	w.erase(m)
	return nil
}

// erase deletes a message that is not ephemeral. To the bot, one with replies changes into a tombstone.
func (w *messageStore) erase(m *stored) {
	before, at := *m, w.nextTS()
	m.deleted = true
	w.emitMessage(m, at, func() answer {
		event := answer{"type": "message", "hidden": true, "ts": at, "previous_message": w.wire(&before, false)}
		if w.leftReplies(m) {
			event["subtype"], event["message"] = "message_changed", w.wire(m, false)
		} else {
			event["subtype"], event["deleted_ts"] = "message_deleted", m.TS
		}
		return event
	})
	w.notify()
}

// deletedMessage finds a deleted message by its ts. It returns nil when there is none.
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

// leftReplies reports whether a deleted message has replies. Then Slack shows a tombstone.
func (w *messageStore) leftReplies(m *stored) bool { return len(w.replies(m.Channel, m.TS)) > 0 }

// tombstoneUser is whose message a tombstone is.
const tombstoneUser = "USLACKBOT"

// tombstone is a deleted message with replies as the Web API has it.
func (w *messageStore) tombstone(m *stored) answer {
	out := answer{"type": "message", "subtype": "tombstone", "user": tombstoneUser, "hidden": true, "ts": m.TS, "text": "This message was deleted."}
	w.wireThread(m, out)
	return out
}
