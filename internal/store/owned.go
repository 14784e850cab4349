package store

import (
	"context"
	"sync"
	"time"
)

// owned is an account that this replica owns.
type owned struct {
	lease   *lease
	stop    context.CancelFunc // begin nothing more
	pending chan Pending       // holds the newest
	ended   chan struct{}      // own has returned
	giving  bool               // it is being given up

	mu      sync.Mutex
	facts   *pollFacts // as the last renewal found them; nil: they must be read
	savedAt time.Time  // when this process last saved, or tried to, what they are of
}

// pollFacts are what polls go by. A renewal finds them, so that polls need not ask for them.
type pollFacts struct {
	mutes  string // as JSON
	wanted int    // cards
}

// take takes the answer of renewOwned to what was asked then: it passes on what there is to do, and keeps the facts that polls go by.
func (t *owned) take(answer []any, asked time.Time) {
	number := func(i int) int64 { n, _ := answer[i].(int64); return n }
	mutes, _ := answer[5].(string)
	d := Pending{Events: int(number(0)), StaleCards: int(number(1)), WantedCards: int(number(2)), Due: dueAt(number(3)), Audited: number(4)}
	t.mu.Lock()
	if asked.After(t.savedAt) {
		t.facts = &pollFacts{mutes, d.WantedCards}
	}
	t.mu.Unlock()
	t.pass(d)
}

func dueAt(unix int64) time.Time {
	if unix < 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0)
}

// pass replaces older work that was not received yet by the newest.
func (t *owned) pass(d Pending) {
	if d == (Pending{}) {
		return
	}
	select {
	case <-t.pending:
	default:
	}
	t.pending <- d // there is room: only this goroutine sends
}

// pollFacts are what the last renewal found of an account that this process owns; nil: they must be read.
func (s *client) pollFacts(account string) *pollFacts {
	o, ok := s.held.Load(account)
	if !ok {
		return nil
	}
	t := o.(*owned)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.facts
}

// expireFacts has an account's facts be read until a renewal that begins from now on: this process saved others, or tried to.
func (s *client) expireFacts(account string) {
	if o, ok := s.held.Load(account); ok {
		t := o.(*owned)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.facts, t.savedAt = nil, time.Now()
	}
}

// ownerLease is the lease under which this process owns an account, and stores what it finds of it.
func (s *client) ownerLease(account string) (*lease, error) {
	o, ok := s.held.Load(account)
	if !ok {
		return nil, leaseLost(s.key(keyLease, account))
	}
	return o.(*owned).lease, nil
}
