// Package webhooks sends each event and audit entry to other programs: it says which of them want it, what each is sent as, and when it is tried again.
package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/webhook"
)

// Everything stands for all events, or all accounts.
const Everything = "*"

// WaitsFor is how long what a webhook doesn't take waits for it.
const WaitsFor = 24 * time.Hour

// AtOnce is how many entries of a queue are read at a time. So many that a webhook refuses hold up all others of their account.
const AtOnce = 50

// Webhook is one receiver, as the configuration has it.
type Webhook struct {
	Name     string // its key in the configuration, for people
	URL      apiclient.Secret
	Secret   apiclient.Secret
	Events   []string // names, as record.EventNames has them, or Everything
	Accounts []string // likewise
}

// ID names the webhook's queues: another address has others.
func (w Webhook) ID() string { return record.ShortHash("webhook", w.URL.Reveal()) }

func (w Webhook) wants(account string) bool { return has(w.Accounts, account) }

func has(words []string, word string) bool {
	return slices.Contains(words, Everything) || slices.Contains(words, word)
}

// List is all webhooks of a configuration.
type List []Webhook

// Of are the ids of the webhooks that want anything of an account.
func (l List) Of(account string) (ids []string) {
	for _, w := range l {
		if w.wants(account) {
			ids = append(ids, w.ID())
		}
	}
	return ids
}

// Wanting are the ids of the webhooks that want an account's events of that name.
func (l List) Wanting(account, event string) (ids []string) {
	for _, w := range l {
		if w.wants(account) && has(w.Events, event) {
			ids = append(ids, w.ID())
		}
	}
	return ids
}

// Entry is an event or an audit entry that waits for a webhook. One of Event, Audit and Unreadable is set.
type Entry struct {
	Place      string    // in the queue
	At         time.Time // since when it waits, on Redis' clock
	Event      *record.Event
	Audit      *record.AuditEntry
	Unreadable error
}

// Queue is what waits for a webhook of an account.
type Queue struct {
	Entries []Entry // the oldest first, AtOnce at most
	Waiting int     // all
	Dropped int     // that are gone without being sent, and weren't logged yet
	Noted   bool    // people are notified that some were dropped since the webhook last took one
}

// Queues are the queues in the store.
type Queues interface {
	// Waiting drops what waits for longer than WaitsFor, and reads what waits; so many dropped ones were logged since the last time.
	Waiting(ctx context.Context, account, webhook string, logged int) (Queue, error)
	// Note puts the event that some were dropped into the outbox. Queues are Noted then, until the webhook takes one.
	Note(ctx context.Context, webhook string, e record.Event) error
	// Done takes off what was sent.
	Done(ctx context.Context, account, webhook, place string) error
}

// Changes are the changes that events name.
type Changes interface {
	// Change is the change with that id; zero if it isn't stored any more.
	Change(ctx context.Context, account, id string) (record.Change, error)
}

// Clock tells the time by which receivers check signatures.
type Clock interface {
	Outside() time.Time
}

// Config is what Webhooks work with.
type Config struct {
	Webhooks List
	Queues   Queues
	Changes  Changes
	Clock    Clock
	Events   *prometheus.CounterVec // by webhook and outcome: delivered, failed (and tried again), dropped
	Log      *slog.Logger
}

// Webhooks sends to all webhooks what this replica's accounts have for them.
type Webhooks struct {
	cfg       Config
	receivers []*receiver

	mu    sync.Mutex
	lines map[string][]*line // by account that this replica owns
}

// New makes Webhooks. Nothing is sent yet.
func New(cfg Config) (*Webhooks, error) {
	w := &Webhooks{cfg: cfg, lines: map[string][]*line{}}
	for _, one := range cfg.Webhooks {
		to, err := webhook.New(one.URL, one.Secret)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		w.receivers = append(w.receivers, newReceiver(one, to, cfg))
	}
	return w, nil
}

// Trouble says which webhooks don't take events, and why.
func (w *Webhooks) Trouble() map[string]string {
	all := map[string]string{}
	for _, r := range w.receivers {
		if why := r.trouble(); why != "" {
			all[r.Name] = why
		}
	}
	return all
}

// Wake has an account's webhooks be sent what has just been stored. What another replica stored is found by itself, a little later.
func (w *Webhooks) Wake(account string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lines[account] {
		select {
		case l.wake <- struct{}{}:
		default: // it was woken already
		}
	}
}

// Run sends what an account has for its webhooks until more ends. A call under way by then is finished within a second, unless held ends. The replica that owns the account has
// the only one.
func (w *Webhooks) Run(held, more context.Context, account *call.Account) {
	var lines []*line
	for _, r := range w.receivers {
		if r.wants(account.Name) {
			lines = append(lines, newLine(w.cfg, account, r))
		}
	}
	w.set(account.Name, lines)
	defer w.set(account.Name, nil)
	var g sync.WaitGroup
	for _, l := range lines {
		g.Go(func() { l.run(held, more) })
	}
	g.Wait()
}

func (w *Webhooks) set(account string, lines []*line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines[account] = lines
}
