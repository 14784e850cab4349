package webhooks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/webhook"
)

const (
	lookEvery  = 30 * time.Second // how often a queue is looked at that nobody woke
	storeWait  = 5 * time.Second  // the pause after the store failed
	stopWithin = time.Second      // how long a call under way may take when an account is given up: whoever owns it next sends it again
)

// line is what one account has for one webhook.
type line struct {
	cfg     Config
	account *call.Account
	to      *receiver
	log     *slog.Logger
	wake    chan struct{}
	logged  int              // of the dropped ones, that the store doesn't know of yet
	refused map[string]tries // by place
}

// tries are those of an entry that the receiver refused.
type tries struct {
	failures int
	next     time.Time // not before
}

func newLine(cfg Config, account *call.Account, to *receiver) *line {
	return &line{cfg: cfg, account: account, to: to, log: to.log.With("account", account.Name), wake: make(chan struct{}, 1), refused: map[string]tries{}}
}

// run sends until more ends.
func (l *line) run(held, more context.Context) {
	held, drop := context.WithCancel(held)
	defer drop()
	defer context.AfterFunc(more, func() { time.AfterFunc(stopWithin, drop) })()
	for {
		again := time.NewTimer(l.pass(held, more))
		select {
		case <-more.Done():
			again.Stop()
			return
		case <-l.wake:
		case <-again.C:
		}
		again.Stop()
	}
}

// pass sends what waits, the oldest first, until the receiver can't be called. It returns how long to wait for the next pass.
func (l *line) pass(held, more context.Context) time.Duration {
	left, gone := l.to.pause()
	if left > 0 && !gone {
		return left
	}
	q, err := l.cfg.Queues.Waiting(held, l.account.Name, l.to.ID(), l.logged)
	if err != nil {
		return l.storeFails(held, err)
	}
	l.to.noteStore(nil)
	if l.logged = q.Dropped; q.Dropped > 0 {
		l.to.dropped(l.account.Name, q.Dropped)
	}
	why := "unknown, it takes events now"
	if len(l.refused) > 0 {
		why = "it refuses some of them"
	}
	l.forget(q)
	wait, sent := lookEvery, 0
	if !gone {
		wait, sent, err = l.sendAll(held, more, q.Entries)
	}
	if err == nil && q.Dropped > 0 && !q.Noted { // after a try: a replica that has just begun doesn't know why
		err = l.cfg.Queues.Note(held, l.to.ID(), l.droppedEvent(q.Dropped, cmp.Or(l.to.trouble(), why)))
	}
	switch {
	case err != nil:
		return l.storeFails(held, err)
	case sent > 0 && q.Waiting > len(q.Entries):
		return 0
	case q.Dropped > 0:
		return min(wait, storeWait) // the store is told that it was logged
	}
	return wait
}

// droppedEvent is the event that so many were dropped, for the account's channel.
func (l *line) droppedEvent(n int, why string) record.Event {
	account, at := l.account.Name, l.cfg.Clock.Outside().UTC()
	return record.Event{
		ID: record.DeliveryID(account, l.to.ID(), record.EventsDropped, int(at.Unix())), Account: account, Kind: record.EventsDropped, Channel: l.account.Channel, At: at,
		Payload: record.DroppedFacts{Webhook: l.to.Name, Dropped: n, Why: why},
	}
}

// storeFails notes that the queue can't be read, and returns how long to wait.
func (l *line) storeFails(held context.Context, err error) time.Duration {
	if held.Err() == nil {
		l.to.noteStore(err)
	}
	return storeWait
}

// forget forgets tries of what waits no longer.
func (l *line) forget(q Queue) {
	kept := map[string]tries{}
	for _, e := range q.Entries {
		if t, ok := l.refused[e.Place]; ok {
			kept[e.Place] = t
		}
	}
	l.refused = kept
}

// sendAll sends entries in order. What the receiver refuses holds up what is about the same attack, and nothing else; a receiver that can't be called ends the
// pass. An error is the store's, or that the lease is lost.
func (l *line) sendAll(held, more context.Context, entries []Entry) (wait time.Duration, sent int, err error) {
	blocked := map[string]bool{} // by subject
	wait = lookEvery
	for _, e := range entries {
		select {
		case <-more.Done():
			return wait, sent, nil
		default:
		}
		m, err := l.compose(held, e)
		if err != nil {
			return wait, sent, err
		}
		if m == nil || blocked[m.subject] {
			continue
		}
		if left := time.Until(l.refused[e.Place].next); left > 0 {
			blocked[m.subject], wait = true, min(wait, left)
			continue
		}
		err = l.to.send(held, webhook.Message{ID: m.id, At: l.cfg.Clock.Outside(), ContentType: contentType, Body: m.body})
		switch failure, failed := errors.AsType[*webhook.Failure](err); {
		case failed && failure.Refused:
			blocked[m.subject] = true
			wait = min(wait, l.noteRefused(e, m.id, failure))
		case failed:
			left, _ := l.to.pause()
			return max(left, firstAgain), sent, nil
		case err != nil:
			return wait, sent, err // the lease is lost
		default:
			if err := l.cfg.Queues.Done(held, l.account.Name, l.to.ID(), e.Place); err != nil {
				return wait, sent, err // it is sent again, under the same id
			}
			sent++
		}
	}
	return wait, sent, nil
}

// noteRefused notes that the receiver refuses an entry, and returns when it is tried again.
func (l *line) noteRefused(e Entry, id string, f *webhook.Failure) time.Duration {
	t := l.refused[e.Place]
	if t.failures == 0 {
		l.log.Warn("the webhook refuses an event, which is tried again for a day", "id", id, "err", f)
	}
	again := max(delay.Backoff(t.failures, firstAgain, longAgain), f.RetryAfter)
	l.refused[e.Place] = tries{t.failures + 1, time.Now().Add(again)}
	return again
}

// compose makes an entry's message; nil: it can't be read, and was taken off.
func (l *line) compose(ctx context.Context, e Entry) (*message, error) {
	if e.Unreadable != nil {
		l.log.Error("an event for a webhook can't be read, and is dropped", "err", e.Unreadable)
		l.to.events.WithLabelValues(l.to.Name, "dropped").Inc()
		return nil, l.cfg.Queues.Done(ctx, l.account.Name, l.to.ID(), e.Place)
	}
	if e.Audit != nil {
		return auditMessage(*e.Audit), nil
	}
	var change record.Change
	if facts, ok := e.Event.Payload.(record.ChangeFacts); ok {
		var err error
		if change, err = l.cfg.Changes.Change(ctx, l.account.Name, facts.Change); err != nil {
			return nil, err
		}
	}
	return eventMessage(l.account, *e.Event, change), nil
}
