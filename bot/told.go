package bot

import (
	"context"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Who is told that a request was dropped: a person once in a minute, and so many people in it.
const (
	toldAgain  = time.Minute
	maxTold    = 1024
	tellWithin = 10 * time.Second
)

// told holds who was told in this minute.
type told struct {
	mu    sync.Mutex
	since time.Time
	who   map[string]bool
}

// first reports whether it is the first time in this minute.
func (t *told) first(who string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.since) >= toldAgain {
		t.since, t.who = time.Now(), map[string]bool{}
	}
	if t.who[who] || len(t.who) == maxTold {
		return false
	}
	t.who[who] = true
	return true
}

// person identifies who asks.
func person(inv call.Invocation) string { return inv.Actor.Team + "/" + inv.Actor.ID }

// drop drops a request for which there is no room, and tells who asked, who would wait for an answer. That is tried once.
func (r *requests) drop(req request) {
	r.overload.Inc()
	r.log.warn(req.within(context.Background()), "too many requests at once", "user", req.Invocation.Actor.ID)
	if !r.told.first(person(req.Invocation)) {
		return
	}
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(req.within(context.Background()), tellWithin)
		defer cancel()
		r.answers.send(ctx, req, say(text.New("Not done: too many requests are under way. Send it again in a minute; until then others of yours may be dropped without a word")))
	})
}
