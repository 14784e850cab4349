package commands_test

import (
	"slices"
	"sync"

	"github.com/wafbot/wafbot/internal/record"
)

// notified keeps what a Notifier learns, and how often an account was changed.
type notified struct {
	mu      sync.Mutex
	events  []record.Event
	redrawn int // how often cards became stale
	changed int // how often a change was made
}

// Notify implements commands.Notifier.
func (n *notified) Notify(_ string, events []record.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, events...)
}

// Redraw implements commands.Notifier.
func (n *notified) Redraw(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.redrawn++
}

// Changed counts.
func (n *notified) Changed(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed++
}

// of are the events of a kind.
func (n *notified) of(kind record.EventKind) []record.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.events), func(e record.Event) bool { return e.Kind != kind })
}

// ids are the events' ids.
func (n *notified) ids() (ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		ids = append(ids, e.ID)
	}
	return ids
}
