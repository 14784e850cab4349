package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// stateVersion is the version of all that is stored in Redis: of its keys, and of the fields of what they hold. A
// replica reads this version alone, and refuses to touch another.
const stateVersion = 9

// leaseTaken is what takeLease answers when the lease was taken.
const leaseTaken = "taken"

// leaseErrors says why a lease can't be taken for now, by takeLease's answer.
var leaseErrors = map[string]error{"empty": ErrEmptied, "newer": ErrNewer, "older": ErrOlder}

var errLeaseLost = errors.New("lease lost")

func leaseLost(key string) error { return fmt.Errorf("%s: %w", key, errLeaseLost) }

// lease is the right to do something that one process may do at a time.
type lease struct {
	key    string
	token  string
	length time.Duration

	mu    sync.Mutex
	until time.Time // surely held before it
	lose  context.CancelCauseFunc
	timer *time.Timer
}

func newLease(key string, length time.Duration) *lease {
	return &lease{key: key, token: rand.Text(), length: length}
}

// begin makes the context of a lease that was taken: it ends with the lease.
func (l *lease) begin(ctx context.Context, until time.Time) context.Context {
	inner, lose := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.lose = until, lose
	l.timer = time.AfterFunc(time.Until(until), l.lost)
	return heldContext{inner, l}
}

// extend notes that the lease is held for longer.
func (l *lease) extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
	l.timer.Reset(time.Until(until))
}

// over reports whether the lease may have run out, by either clock: the monotonic one stands still while a machine is
// suspended.
func (l *lease) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return !now.Before(l.until) || !now.Round(0).Before(l.until.Round(0))
}

// lost ends the lease's context if the lease is over.
func (l *lease) lost() {
	if l.over() {
		l.end(leaseLost(l.key))
	}
}

// end ends the lease's context.
func (l *lease) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.until = time.Time{}
	l.lose(cause)
}

// heldContext ends with its lease. Its Err knows the lease's end to the instant, whatever a pause of the process did to
// timers: code that checks it right before a request is sent sends nothing too late.
type heldContext struct {
	context.Context

	lease *lease
}

// Err implements context.Context.
func (h heldContext) Err() error {
	h.lease.lost()
	return h.Context.Err()
}

// take is the call of takeLease that takes the lease, also without an epoch if that may be unknown.
func (l *lease) take(epoch string, unknown bool) call {
	return call{[]string{l.key, epoch, keyNone(epoch)}, []any{l.token, l.length.Milliseconds(), stateVersion, unknown}}
}

// drop gives leases back, however their contexts ended. One that can't be given back ends by itself.
func (s *client) drop(ctx context.Context, all ...*lease) {
	drops := make([]call, len(all))
	for i, l := range all {
		l.end(context.Canceled)
		drops[i] = call{[]string{l.key}, []any{l.token}}
	}
	s.pipelined(context.WithoutCancel(ctx), dropLease, drops)
}

// renewing keeps a lease until stop is called, or until it is lost.
func (s *client) renewing(held context.Context, l *lease) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := time.NewTicker(l.length / 4)
		defer every.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-held.Done():
				return
			case <-every.C:
			}
			until := time.Now().Add(l.length)
			if still, err := renewLease.Run(held, s.rdb, []string{l.key}, l.token, l.length.Milliseconds()).Int(); err == nil {
				if still == 0 {
					l.end(leaseLost(l.key))
					return
				}
				l.extend(until)
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

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

// take takes the answer of renewOwned to what was asked then: it passes on what there is to do, and keeps the mutes, so
// that polls need not ask for them.
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

// expireMutes has an account's mutes be read until a renewal that begins from now on: this process saved others, or
// tried to.
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
