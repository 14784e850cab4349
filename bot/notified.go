package bot

import (
	"context"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Who is notified that a request was dropped: a person once in a minute, and so many people in it.
const (
	notifiedAgain = time.Minute
	maxNotified   = 1024
	notifyWithin  = 10 * time.Second
)

// notified holds who was notified in this minute.
type notified struct {
	mu    sync.Mutex
	since time.Time
	who   map[string]bool
}

// first reports whether it is the first time in this minute.
func (n *notified) first(who string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.since) >= notifiedAgain {
		n.since, n.who = time.Now(), map[string]bool{}
	}
	if n.who[who] || len(n.who) == maxNotified {
		return false
	}
	n.who[who] = true
	return true
}

// person identifies who asks.
func person(inv call.Invocation) string { return inv.Actor.Team + "/" + inv.Actor.ID }

// drop drops a request for which there is no room, and notifies who asked, who would wait for an answer. That is tried once.
func (r *requests) drop(req request) {
	r.overload.Inc()
	r.log.warn(req.within(context.Background()), "too many requests at once", "user", req.Invocation.Actor.ID)
	if !r.notified.first(person(req.Invocation)) {
		return
	}
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(req.within(context.Background()), notifyWithin)
		defer cancel()
		r.answers.send(ctx, req, say(text.New("Not done: too many requests are under way. Send it again in a minute; until then others of yours may be dropped without a word")))
	})
}
