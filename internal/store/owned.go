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
	mutes   *string   // as JSON, as the last renewal found them; nil: they must be read
	savedAt time.Time // when this process last saved mutes, or tried to
}

// take takes the answer of renewOwned to what was asked then: it passes on what there is to do, and keeps the mutes, so that
// polls need not ask for them.
func (t *owned) take(answer []any, asked time.Time) {
	number := func(i int) int64 { n, _ := answer[i].(int64); return n }
	mutes, _ := answer[4].(string)
	d := Pending{Events: int(number(0)), StaleCards: int(number(1)), Due: dueAt(number(2)), Audited: number(3)}
	t.mu.Lock()
	if asked.After(t.savedAt) {
		t.mutes = &mutes
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

// ownedMutes are what the last renewal found of an account that this process owns; nil: they must be read.
func (s *client) ownedMutes(account string) *string {
	o, ok := s.held.Load(account)
	if !ok {
		return nil
	}
	t := o.(*owned)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mutes
}

// expireMutes has an account's mutes be read until a renewal that begins from now on: this process saved others, or tried to.
func (s *client) expireMutes(account string) {
	if o, ok := s.held.Load(account); ok {
		t := o.(*owned)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.mutes, t.savedAt = nil, time.Now()
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
