package notify

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// queue notifies what is in an account's outbox: the most urgent first, in each channel one event after another, or several at once where no pace
// is configured. Events about the same thing keep their order. One whose message is in doubt is parked until it can be verified: others go on.
// What only a card shows, figures and state, posts nothing and doesn't wait for what is posted: it has a lane of its own.
type queue struct {
	notifier *Notifier
	account  string
	trials   *trials

	mu      sync.Mutex
	lanes   map[string]*lane     // by channel; by "" that which posts nothing
	known   map[string]time.Time // ids that wait, or when they were notified: an outbox read meanwhile must not bring them again
	claims  map[string][]string  // subjects of each event that is being notified or parked, by its id
	holders map[string]string    // the other way round: that id, by subject
	missing bool                 // the outbox holds what isn't known here
	wake    chan struct{}        // something is to be done
	urgent  chan struct{}        // closed when something urgent comes to wait
	slots   map[string]bool      // deliveries for which the right to post was taken
}

func newQueue(n *Notifier, account string) *queue {
	return &queue{
		notifier: n, account: account, trials: newTrials(time.Now(), n.deliver.readings), lanes: map[string]*lane{}, known: map[string]time.Time{},
		claims: map[string][]string{}, holders: map[string]string{}, missing: true, wake: make(chan struct{}, 1), urgent: make(chan struct{}), slots: map[string]bool{},
	}
}

// add puts events into their lanes.
func (q *queue) add(events []record.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range events {
		if _, ok := q.known[e.ID]; ok {
			continue
		}
		q.enqueue(queued{Event: e, since: time.Now(), subjects: []string{subject(e)}})
		if urgent(e) {
			close(q.urgent)
			q.urgent = make(chan struct{})
			for _, l := range q.lanes { // Slack may be back, and may take this one
				l.paused = time.Time{}
			}
		}
	}
	signal(q.wake)
}

// enqueue has an event wait in its lane. The caller holds mu.
func (q *queue) enqueue(w queued) {
	q.known[w.ID] = time.Time{}
	name := laneOf(w.Event)
	if q.lanes[name] == nil {
		q.lanes[name] = &lane{}
	}
	q.lanes[name].waits = append(q.lanes[name].waits, w)
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
	defer q.trials.forget()
	var working sync.WaitGroup
	defer working.Wait()
	for more.Err() == nil {
		q.load(held)
		all, wait := q.start()
		for _, w := range all {
			working.Go(func() { q.work(held, w) })
		}
		select {
		case <-more.Done():
		case <-q.wake:
		case <-time.After(wait):
		}
	}
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
		return // it is read again within a second
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

// start takes out of the lanes what is to be notified now, and returns how long until more may be.
func (q *queue) start() (all []queued, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	wait = q.unpark(now)
	for name, l := range q.lanes {
		rest := l.paused.Sub(now)
		if name != "" { // after a 429 facts are read when a message can be sent
			rest = max(rest, q.notifier.cfg.Slack.HeldFor(slackconn.MethodPost, true))
		}
		if rest > 0 {
			wait = min(wait, rest)
			continue
		}
		for l.running < q.room(name) {
			w, ok := q.take(l)
			if !ok {
				break
			}
			l.running++
			all = append(all, w)
		}
	}
	return all, wait
}

// unpark has those wait for their turn that are due, as urgent as what waits for them, and returns how long until the next are. The caller holds mu.
func (q *queue) unpark(now time.Time) (wait time.Duration) {
	wait = whenWoken
	raised := map[string]int{} // by id of what was parked
	for w := range q.all() {
		if rest := w.due.Sub(now); rest > 0 {
			wait = min(wait, rest)
			continue
		}
		w.due = time.Time{}
		for _, of := range w.subjects {
			if id := q.holders[of]; id != "" && (raised[id] == 0 || w.Rank() < raised[id]) {
				raised[id] = w.Rank()
			}
		}
	}
	for w := range q.all() {
		w.raised = raised[w.ID]
	}
	return wait
}

// all are the events that wait, in all lanes. The caller holds mu.
func (q *queue) all() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for _, l := range q.lanes {
			for i := range l.waits {
				if !yield(&l.waits[i]) {
					return
				}
			}
		}
	}
}

// take takes the most urgent event of a lane that isn't held up, with its subjects. The caller holds mu.
func (q *queue) take(l *lane) (w queued, ok bool) {
	best := -1
	for i := range l.waits {
		if (best < 0 || before(&l.waits[i], &l.waits[best])) && q.ready(&l.waits[i], "") {
			best = i
		}
	}
	if best < 0 {
		return queued{}, false
	}
	w = l.waits[best]
	l.waits = slices.Delete(l.waits, best, best+1)
	q.claims[w.ID] = w.subjects
	for _, of := range w.subjects {
		q.holders[of] = w.ID
	}
	return w, true
}

// ready reports whether an event that waits is held up by no other, or by that one alone. The caller holds mu.
func (q *queue) ready(w *queued, but string) bool {
	return w.due.IsZero() && !slices.ContainsFunc(w.subjects, func(of string) bool {
		return q.holders[of] != "" && q.holders[of] != w.ID && q.holders[of] != but
	})
}

// release gives an event's subjects to others. The caller holds mu.
func (q *queue) release(id string) {
	for _, of := range q.claims[id] {
		delete(q.holders, of)
	}
	delete(q.claims, id)
}
