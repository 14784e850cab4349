package bot

import (
	"sync"

	"github.com/wafbot/wafbot/internal/record"
)

// How many stored requests a replica carries out at a time, below 100 kB each with its connection to the service; how many of one account, so that one whose
// service hangs leaves room for the others; and how many of one person on it before that person's next line waits in its lane until one is carried out. What is
// beyond an account's share waits for its turn, and stays in the inbox meanwhile. What is beyond all waits in Redis, or is another replica's.
const (
	maxInHand    = 1024
	maxOfAccount = maxInHand / 4
	maxOfPerson  = 32
)

// turns shares out among the accounts what is carried out at a time.
type turns struct {
	open chan struct{}
	all  sync.WaitGroup

	mu      sync.Mutex
	taken   map[string]int                  // by account
	waiting map[string][]func(leave func()) // likewise, the oldest first
	lanes   map[record.Lane]int             // how many are carried out of each
}

func newTurns() *turns {
	return &turns{open: make(chan struct{}, maxInHand), taken: map[string]int{}, waiting: map[string][]func(leave func()){}, lanes: map[record.Lane]int{}}
}

// take does something for an account when it is its turn, which leave ends, or the end. It waits while all turns are taken.
func (t *turns) take(account string, do func(leave func())) {
	t.mu.Lock()
	if t.taken[account] == maxOfAccount {
		t.waiting[account] = append(t.waiting[account], do)
		t.mu.Unlock()
		return
	}
	t.taken[account]++
	t.mu.Unlock()
	t.open <- struct{}{}
	t.begin(account, do)
}

func (t *turns) begin(account string, do func(leave func())) {
	t.all.Go(func() {
		leave := sync.OnceFunc(func() { t.leave(account) })
		defer leave()
		do(leave)
	})
}

// leave gives the turn to what waits for the same account, else back.
func (t *turns) leave(account string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if waiting := t.waiting[account]; len(waiting) > 0 {
		t.waiting[account] = waiting[1:]
		t.begin(account, waiting[0])
		return
	}
	delete(t.waiting, account)
	if t.taken[account]--; t.taken[account] == 0 {
		delete(t.taken, account)
	}
	<-t.open
}

// enter notes that a line of a lane is carried out until it exits, and reports whether as many are as may be.
func (t *turns) enter(lane record.Lane) (crowded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lanes[lane]++
	return t.lanes[lane] >= maxOfPerson
}

func (t *turns) exit(lane record.Lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lanes[lane]--; t.lanes[lane] == 0 {
		delete(t.lanes, lane)
	}
}

// wait waits until all is done.
func (t *turns) wait() { t.all.Wait() }
