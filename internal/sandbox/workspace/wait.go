package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Watch returns a channel that is closed at the next change: a message, an edit, a view, a person.
func (w *core) Watch() <-chan struct{} {
	w.changes.Lock()
	defer w.changes.Unlock()
	return w.changed
}

func (w *core) notify() {
	w.changes.Lock()
	defer w.changes.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// WaitMessage returns the first message of a channel (id or #name) that is ok, now or after any later change.
// When the context ends, the error lists the messages there are.
func (w *messageStore) WaitMessage(ctx context.Context, channel string, ok func(Message) bool) (Message, error) {
	m, err := wait(ctx, w.core, func() []Message { return w.Messages(channel) }, ok)
	if err != nil {
		return Message{}, fmt.Errorf("wait for message in %s: %w", channel, err)
	}
	return m, nil
}

// WaitEphemeral is WaitMessage for the ephemeral messages of a user (name or id).
func (w *messageStore) WaitEphemeral(ctx context.Context, user string, ok func(Message) bool) (Message, error) {
	m, err := wait(ctx, w.core, func() []Message { return w.Ephemerals(user) }, ok)
	if err != nil {
		return Message{}, fmt.Errorf("wait for ephemeral message to %s: %w", user, err)
	}
	return m, nil
}

// WaitView returns the modal that a user (name or id) sees as soon as it is ok.
func (w *viewStore) WaitView(ctx context.Context, user string, ok func(View) bool) (View, error) {
	v, err := wait(ctx, w.core, one(func() *View { return w.OpenView(user) }), ok)
	if err != nil {
		return View{}, fmt.Errorf("wait for a modal of %s: %w", user, err)
	}
	return v, nil
}

// WaitHome returns what is published on a user's (name or id) Home tab as soon as it is ok.
func (w *viewStore) WaitHome(ctx context.Context, user string, ok func(View) bool) (View, error) {
	v, err := wait(ctx, w.core, one(func() *View { return w.Home(user) }), ok)
	if err != nil {
		return View{}, fmt.Errorf("wait for the Home tab of %s: %w", user, err)
	}
	return v, nil
}

// one is a list of one view, or of none.
func one(look func() *View) func() []View {
	return func() []View {
		if v := look(); v != nil {
			return []View{*v}
		}
		return nil
	}
}

// seen is a message or a view.
type seen interface {
	Plain() string
	place() string // identifies it
}

func (m Message) place() string { return m.TS + " " + m.User }
func (v View) place() string    { return v.ID }

func wait[T seen](ctx context.Context, w *core, list func() []T, ok func(T) bool) (T, error) {
	for {
		changed := w.Watch() // before the list, so that no change is missed
		seen := list()
		if i := slices.IndexFunc(seen, ok); i >= 0 {
			return seen[i], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("%w; seen: %s", ctx.Err(), describe(seen))
		}
	}
}

func describe[T seen](things []T) string {
	if len(things) == 0 {
		return "nothing"
	}
	var lines []string
	for _, thing := range things {
		lines = append(lines, fmt.Sprintf("\n%s: %s", thing.place(), thing.Plain()))
	}
	return strings.Join(lines, "")
}
