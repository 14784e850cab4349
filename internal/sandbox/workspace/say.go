package workspace

import (
	"errors"
	"fmt"
	"strings"
)

// Saying is a message that a person types.
type Saying struct {
	User     string // name or id
	Channel  string // id or #name; empty: alone with the bot
	ThreadTS string // of the message that begins the thread; empty: none
	Text     string // as typed: Slack turns names and addresses into its own markup
}

// Say posts a person's message. The bot gets an event in the background.
func (w *messageStore) Say(s Saying) (Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.speaker(s.User, s.Channel)
	if err != nil {
		return Message{}, fmt.Errorf("say: %w", err)
	}
	if strings.TrimSpace(s.Text) == "" {
		return Message{}, errors.New("say: there is no text")
	}
	thread, err := w.threadOf(c, s.ThreadTS)
	if err != nil {
		return Message{}, fmt.Errorf("say in thread %s: %w", s.ThreadTS, err)
	}
	m := w.add(Message{Channel: c.ID, User: u.ID, ThreadTS: thread, Text: w.typed(s.Text, false), ClientMsgID: randomID()})
	return m.Message, nil
}

// Edit changes the text of a person's own message. The bot gets an event in the background.
func (w *messageStore) Edit(user, channel, ts, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.speaker(user, channel)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	m := w.find(c.ID, ts)
	if m == nil || m.User != u.ID {
		return fmt.Errorf("edit: %s has no message %s in #%s", u.Name, ts, c.Name)
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("edit: there is no text")
	}
	w.rewrite(m, content{text: w.typed(text, false)}, args{})
	return nil
}

// Direct finds or opens the direct message of a user (name or id) with the bot.
func (w *people) Direct(user string) (Channel, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, c, err := w.speaker(user, "")
	if err != nil {
		return Channel{}, fmt.Errorf("open direct message: %w", err)
	}
	return *c, nil
}

// speaker finds a person who can write in a channel; without channel in the direct message with the bot.
func (w *people) speaker(user, channel string) (User, *Channel, error) {
	if channel == "" {
		u, ok := w.user(user)
		if !ok || u.Deleted || u.Bot {
			return User{}, nil, fmt.Errorf("no such user: %q", user)
		}
		return u, w.direct(u.ID), nil
	}
	u, c, err := w.present(user, channel)
	if err != nil {
		return User{}, nil, err
	}
	if c.Archived {
		return User{}, nil, fmt.Errorf("channel #%s is archived", c.Name)
	}
	return u, c, nil
}
