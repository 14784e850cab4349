package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Watch returns a channel that is closed at the next change: a message, an edit, a view, a person.
func (w *Workspace) Watch() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *Workspace) notify() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// WaitMessage returns the first message of a channel (id or #name) that is ok, now or after any later change.
// At the context's end its error lists what was there instead.
func (w *Workspace) WaitMessage(ctx context.Context, channel string, ok func(Message) bool) (Message, error) {
	m, err := w.wait(ctx, func() []Message { return w.Messages(channel) }, ok)
	if err != nil {
		return Message{}, fmt.Errorf("wait for message in %s: %w", channel, err)
	}
	return m, nil
}

// WaitEphemeral is WaitMessage for what only that user (name or id) is shown.
func (w *Workspace) WaitEphemeral(ctx context.Context, user string, ok func(Message) bool) (Message, error) {
	m, err := w.wait(ctx, func() []Message { return w.Ephemerals(user) }, ok)
	if err != nil {
		return Message{}, fmt.Errorf("wait for ephemeral message to %s: %w", user, err)
	}
	return m, nil
}

func (w *Workspace) wait(ctx context.Context, list func() []Message, ok func(Message) bool) (Message, error) {
	for {
		changed := w.Watch() // before the look, so that nothing falls in between
		seen := list()
		if i := slices.IndexFunc(seen, ok); i >= 0 {
			return seen[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Message{}, fmt.Errorf("%w; seen: %s", ctx.Err(), describe(seen))
		}
	}
}

func describe(seen []Message) string {
	if len(seen) == 0 {
		return "nothing"
	}
	var lines []string
	for _, m := range seen {
		lines = append(lines, fmt.Sprintf("\n%s %s: %s", m.TS, m.User, m.Plain()))
	}
	return strings.Join(lines, "")
}
