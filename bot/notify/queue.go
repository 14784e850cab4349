package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// queue notifies what is in an account's outbox: in each channel one event after another, incidents first. What only a card shows, figures and
// state, posts nothing and doesn't wait for what is posted: it has a lane of its own.
type queue struct {
	notifier *Notifier
	account  string
	since    time.Time // when this replica began to notify

	mu      sync.Mutex
	lanes   map[string][]queued  // what waits, by channel; by "" that which posts nothing
	running map[string]bool      // lanes in which a goroutine works
	known   map[string]time.Time // ids that wait, or when they were notified: an outbox read meanwhile must not bring them again
	tried   map[string]bool      // ids that this replica tried to post
	moved   map[string]bool      // ids that go to the account's own channel, for theirs can't be posted to
	missing bool                 // the outbox holds what isn't known here
	wake    chan struct{}        // something is to be done
	urgent  chan struct{}        // closed when something urgent comes to wait
	slots   map[string]bool      // deliveries for which the right to post was taken
}

func newQueue(n *Notifier, account string) *queue {
	return &queue{
		notifier: n, account: account, since: time.Now(), lanes: map[string][]queued{}, running: map[string]bool{}, known: map[string]time.Time{},
		tried: map[string]bool{}, moved: map[string]bool{}, missing: true, wake: make(chan struct{}, 1), urgent: make(chan struct{}), slots: map[string]bool{},
	}
}

// queued is an event that waits for its turn.
type queued struct {
	record.Event
	since  time.Time // when this replica came to know of it
	failed int       // how often it could not be notified
}

// stuckAfter is how often an event fails before others go first: Slack may be away, which says nothing about this one, or refuse it for ever.
const stuckAfter = 3

func (w queued) stuck() bool { return w.failed >= stuckAfter }

// stormPatience is how long the first card of a storm waits behind incidents, of which each takes a second: it has to be there, and right, within five.
const stormPatience = 2 * time.Second

// rank is how urgent it is by now.
func (w queued) rank() int {
	if w.Storm() != nil && w.Kind == record.NewAttack && time.Since(w.since) >= stormPatience {
		return 0
	}
	return w.Rank()
}

// lane is where an event waits for its turn.
func lane(e record.Event) string {
	switch e.Kind {
	case record.Grew, record.WentQuiet, record.Resumed:
		return ""
	}
	return e.Channel
}

// urgent reports whether an event takes the room that others leave.
func urgent(e record.Event) bool { return e.Rank() <= 2 }

// add puts events into their lanes.
func (q *queue) add(events []record.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range events {
		if _, ok := q.known[e.ID]; ok {
			continue
		}
		q.enqueue(queued{Event: e, since: time.Now()})
		if urgent(e) {
			close(q.urgent)
			q.urgent = make(chan struct{})
		}
	}
	signal(q.wake)
}

// enqueue has an event wait in its lane. The caller holds mu.
func (q *queue) enqueue(w queued) {
	q.known[w.ID] = time.Time{}
	q.lanes[lane(w.Event)] = append(q.lanes[lane(w.Event)], w)
}

// expect has the outbox read if it holds more than is known here.
func (q *queue) expect(n int) {
	if n <= q.waiting() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.missing = true
	signal(q.wake)
}

// waiting is how many events are known here that have not been notified.
func (q *queue) waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, notified := range q.known {
		if notified.IsZero() {
			n++
		}
	}
	return n
}

// run notifies until more ends, and then waits for what is being notified. What waited here is dropped: the outbox has it.
func (q *queue) run(held, more context.Context) {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	for {
		q.load(held)
		for _, lane := range q.idle() {
			lanes.Go(func() { q.runLane(held, more, lane) })
		}
		select {
		case <-more.Done():
			return
		case <-q.wake:
		}
	}
}

// idle are the lanes in which something waits and no goroutine works; one is to be started.
func (q *queue) idle() (lanes []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for lane, queue := range q.lanes {
		if len(queue) > 0 && !q.running[lane] {
			q.running[lane] = true
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// knownFor is how long what was notified is known, so that an outbox that was read before doesn't bring it again.
const knownFor = 2 * time.Minute

// load adds what the outbox holds if that is not known here, and drops what was notified long ago.
func (q *queue) load(ctx context.Context) {
	q.mu.Lock()
	missing := q.missing
	q.mu.Unlock()
	if !missing {
		return
	}
	events, err := q.notifier.cfg.Stores.Outbox.Waiting(ctx, q.account)
	if err != nil {
		q.notifier.cfg.Log.Warn("read outbox", "account", q.account, "err", err)
		return // it is looked for again within a second
	}
	q.mu.Lock()
	q.missing = false
	for id, notified := range q.known {
		if !notified.IsZero() && time.Since(notified) > knownFor {
			delete(q.known, id)
		}
	}
	q.mu.Unlock()
	q.add(events)
}

// next takes the most urgent event of a lane; when there is none, the lane's goroutine ends.
func (q *queue) next(lane string) (w queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.lanes[lane]
	if len(queue) == 0 {
		delete(q.lanes, lane)
		delete(q.running, lane)
		return queued{}, false
	}
	i := 0
	for j := range queue {
		if before(queue[j], queue[i]) {
			i = j
		}
	}
	w = queue[i]
	q.lanes[lane] = slices.Delete(queue, i, i+1)
	return w, true
}

// before orders events of one lane.
func before(a, b queued) bool {
	if a.stuck() != b.stuck() {
		return b.stuck()
	}
	if a.rank() != b.rank() {
		return a.rank() < b.rank()
	}
	return a.At.Before(b.At) || a.At.Equal(b.At) && a.Revision() < b.Revision()
}
