package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// step is one thing that a replica sends in a story: the N-th of its kind.
type step struct {
	kind string
	n    int
}

// String is a step for the report.
func (s step) String() string { return fmt.Sprintf("%s #%d", s.kind, s.n) }

// moment is when a strike hits: before the step's bytes are passed on, or when the answer is about to come back.
type moment string

// The moments.
const (
	before moment = "before"
	after  moment = "after"
)

// blow is what is done to the replica, and which replica goes on.
type blow string

// The blows.
const (
	killed    blow = "killed, another goes on"
	restarted blow = "killed and restarted"
	stopped   blow = "stopped, another goes on, woken"
	heldUp    blow = "held up, another goes on" // the one call: what else it does goes on, and it keeps what it holds
)

// holdFor is less than a call to Redis may take, and more than another replica needs to meet what the one that is held
// up has decided.
const holdFor = 700 * time.Millisecond

// stopFor is longer than a lease lasts and its successor needs to take it.
const stopFor = 6 * time.Second

// strike is the fault of a play.
type strike struct {
	step   step
	moment moment
	blow   blow
}

// String is a strike for the report.
func (s strike) String() string { return fmt.Sprintf("%s, %s %s", s.blow, s.moment, s.step) }

// trap sees every step of one replica, and strikes it at one of them.
type trap struct {
	strike strike // the zero one never strikes

	mu     sync.Mutex
	armed  bool
	counts map[string]int
	steps  []step
	begun  chan struct{} // closed when it strikes
	struck chan struct{} // closed when the strike is over
	target *replica
}

func newTrap() *trap {
	return &trap{counts: map[string]int{}, begun: make(chan struct{}), struck: make(chan struct{})}
}

// arm begins to count.
func (t *trap) arm(target *replica, s strike) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed, t.target, t.strike, t.counts, t.steps = true, target, s, map[string]int{}, nil
}

// before counts a step. It reports whether its bytes are passed on.
func (t *trap) before(kind string) (n int, pass bool) {
	t.mu.Lock()
	if !t.armed || kind == "" {
		t.mu.Unlock()
		return 0, true
	}
	t.counts[kind]++
	n = t.counts[kind]
	t.steps = append(t.steps, step{kind, n})
	t.mu.Unlock()
	return n, t.hit(kind, n, before)
}

// uncount removes a step that did nothing.
func (t *trap) uncount(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.armed || t.counts[kind] == 0 {
		return
	}
	t.steps = slices.DeleteFunc(t.steps, func(s step) bool { return s == step{kind, t.counts[kind]} })
	t.counts[kind]--
}

// after reports whether the answer is passed on.
func (t *trap) after(kind string, n int) bool { return n == 0 || t.hit(kind, n, after) }

// hit strikes if this is the step, and reports whether the replica lives.
func (t *trap) hit(kind string, n int, m moment) bool {
	t.mu.Lock()
	is := t.strike == strike{step{kind, n}, m, t.strike.blow} && !closed(t.begun)
	if is {
		close(t.begun)
	}
	t.mu.Unlock()
	if !is {
		return true
	}
	defer close(t.struck)
	switch t.strike.blow {
	case heldUp:
		pause(context.Background(), holdFor)
		return true
	case stopped:
		t.target.pause()
		pause(context.Background(), stopFor)
		t.target.resume()
		return true
	}
	t.target.kill()
	return false
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seen are the steps since it was armed.
func (t *trap) seen() []step {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.steps)
}
