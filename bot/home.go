package bot

import (
	"context"
	"sync"
)

// maxDraws is how many Home tabs are read and published at a time.
const maxDraws = 8

// homes are the Home tabs that are being drawn, by user, each with the newest answer that came meanwhile; nil: none. A drawing shows everything, so the others
// are dropped: however often a person has the tab drawn, one drawing is under way.
type homes struct {
	mu   sync.Mutex
	next map[string]*reply
}

// begin reports whether the caller draws an answer. Else whoever draws this user's tab does it next.
func (h *homes) begin(made *reply) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	user := made.to.Invocation.Actor.ID
	if _, drawn := h.next[user]; drawn {
		h.next[user] = made
		return false
	}
	h.next[user] = nil
	return true
}

// end is what to draw after an answer; nil: nothing.
func (h *homes) end(made *reply) (next *reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	user := made.to.Invocation.Actor.ID
	if next = h.next[user]; next != nil {
		h.next[user] = nil
	} else {
		delete(h.next, user)
	}
	return next
}

// answerHome answers in a user's Home tab, unless it is being drawn: then this is drawn next.
func (r *requests) answerHome(made *reply) {
	if !r.homes.begin(made) {
		return
	}
	for ; made != nil; made = r.homes.end(made) {
		ctx, cancel := context.WithTimeout(made.to.within(context.Background()), readTimeout)
		r.answers.answer(ctx, made.to, made.msg)
		cancel()
	}
}
