package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/webhook"
)

const (
	callsAtOnce = 4               // how many accounts call a webhook at a time
	firstAgain  = time.Second     // the pause after a failure, doubled with each further one
	longAgain   = 5 * time.Minute // the longest, unless the receiver asks for a longer one
)

// sender sends to one webhook; *webhook.Webhook is one.
type sender interface {
	Send(ctx context.Context, m webhook.Message) error
}

// receiver is a webhook as this process knows it: all accounts go by it, so that a receiver that is away isn't tried by each of them.
type receiver struct {
	Webhook

	to     sender
	log    *slog.Logger
	events *prometheus.CounterVec
	calls  chan struct{}

	mu       sync.Mutex
	failures int       // in a row, that are about no one message
	next     time.Time // not before
	why      string    // it takes no events; "": it does, as far as is known
	gone     bool      // it wants none, until this process ends
	unread   bool      // what waits for it can't be read
}

func newReceiver(one Webhook, to sender, cfg Config) *receiver {
	return &receiver{Webhook: one, to: to, log: cfg.Log.With("webhook", one.Name), events: cfg.Events, calls: make(chan struct{}, callsAtOnce)}
}

// pause is how long nothing is sent; gone: it is for good.
func (r *receiver) pause() (left time.Duration, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.next), r.gone
}

// trouble says why it takes no events; "": it does.
func (r *receiver) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// send sends a message, and notes how it went. A *webhook.Failure with Refused is about that message alone.
func (r *receiver) send(ctx context.Context, m webhook.Message) error {
	select {
	case r.calls <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.calls }()
	if left, _ := r.pause(); left > 0 { // another account has just found out
		return &webhook.Failure{Text: r.trouble()}
	}
	err := r.to.Send(ctx, m)
	failure, failed := errors.AsType[*webhook.Failure](err)
	if err != nil && !failed {
		return err // the context's
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed || failure.Refused {
		r.answers()
	} else {
		r.fails(failure)
	}
	r.events.WithLabelValues(r.Name, map[bool]string{true: "failed", false: "delivered"}[failed]).Inc()
	return err
}

// answers notes that the receiver answers. The caller holds mu.
func (r *receiver) answers() {
	if r.gone {
		return
	}
	if r.why != "" {
		r.log.Info("the webhook takes events again")
	}
	r.failures, r.next, r.why = 0, time.Time{}, ""
}

// fails notes that the receiver can't be called. The caller holds mu.
func (r *receiver) fails(f *webhook.Failure) {
	switch {
	case f.Gone && !r.gone:
		r.log.Error("the webhook wants no more events (410): none is sent to it until wafbot starts again. Take it out of the configuration, or mend it")
	case !f.Gone && r.why == "":
		r.log.Error("the webhook doesn't take events: they wait for it, for a day at most", "err", f)
	}
	r.gone = r.gone || f.Gone
	r.next = time.Now().Add(max(delay.Jitter(0, firstAgain)+delay.Backoff(r.failures, firstAgain, longAgain), f.RetryAfter))
	r.failures++
	r.why = f.Text
}

// noteStore logs, once for all accounts, that what waits can't be read; nil: it can.
func (r *receiver) noteStore(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.unread {
		r.log.Error("read what waits for the webhook", "err", err)
	}
	r.unread = err != nil
}

// dropped says that so many events of an account were never sent.
func (r *receiver) dropped(account string, n int) {
	r.events.WithLabelValues(r.Name, "dropped").Add(float64(n))
	r.log.Error("events were dropped that the webhook didn't take: they waited for a day, or too much waited. The audit log has what people did", "account", account, "dropped", n)
}
