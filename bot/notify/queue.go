package notify

import (
	"container/heap"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// queue notifies what is in an account's outbox: the most urgent first, in each channel one event after another, or
// several at once where no pace is configured. Events about the same thing keep their order. One whose message is in
// doubt is parked until it can be verified: others go on. What only a card shows, figures and state, posts nothing and
// doesn't wait for what is posted: it has a lane of its own.
type queue struct {
	notifier *Notifier
	account  string
	trials   *trials

	mu      sync.Mutex
	lanes   map[string]*lane     // by channel; by "" that which posts nothing
	aside   byDue                // parked events that are not due
	known   map[string]time.Time // since when an event waits, by id; zero: it was notified lately, and an outbox read meanwhile must not bring it again
	lately  []done               // the latter, in order
	claims  map[string]*queued   // events that are being notified or parked, by id
	holders map[string]*queued   // the same, by subject
	behind  map[string][]*queued // what waits for the holder of a subject
	missing bool                 // the outbox holds what isn't known here
	wake    chan struct{}        // something is to be done
	urgent  chan struct{}        // closed when something urgent comes to wait
	slots   map[string]bool      // deliveries for which the right to post was taken

	stopping chan struct{} // closed when nothing more is begun: what waits for its turn at Slack then doesn't
}

// done is when an event was notified.
type done struct {
	id string
	at time.Time
}

func newQueue(n *Notifier, account string) *queue {
	return &queue{
		notifier: n, account: account, trials: newTrials(time.Now(), n.deliver.readings), lanes: map[string]*lane{}, known: map[string]time.Time{},
		claims: map[string]*queued{}, holders: map[string]*queued{}, behind: map[string][]*queued{}, missing: true,
		wake: make(chan struct{}, 1), urgent: make(chan struct{}), slots: map[string]bool{}, stopping: make(chan struct{}),
	}
}

// knownFor is how long what was notified is known, so that an outbox that was read before doesn't bring it again.
const knownFor = 2 * time.Minute

// add puts events into their lanes.
func (q *queue) add(events []record.Event) {
	q.print(events...)
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.lately) > 0 && time.Since(q.lately[0].at) > knownFor {
		delete(q.known, q.lately[0].id)
		q.lately = q.lately[1:]
	}
	for _, e := range events {
		if _, known := q.known[e.ID]; known {
			continue
		}
		w := &queued{Event: e, since: time.Now(), subjects: []string{subject(e)}, rank: e.Rank()}
		q.known[e.ID] = w.since
		q.wait(w)
		if w.stormCard() {
			time.AfterFunc(stormPatience, func() { q.grow(w) })
		}
		if urgent(e) {
			close(q.urgent)
			q.urgent = make(chan struct{})
			for _, l := range q.lanes { // Slack may be back, and may take this one
				l.paused = time.Time{}
			}
		}
	}
}

// print writes events that aren't known here yet as lines of JSON. That is before they can leave the outbox: whoever
// finds them there writes them again.
func (q *queue) print(events ...record.Event) {
	for _, e := range events {
		q.mu.Lock()
		_, known := q.known[e.ID]
		q.mu.Unlock()
		if known {
			continue
		}
		line, err := json.Marshal(e.Print())
		if err == nil { // one Write a line: concurrent ones must not mix
			_, err = q.notifier.cfg.Lines.Write(append(text.SanitizeJSON(line), '\n'))
		}
		if err != nil {
			q.notifier.cfg.Log.Error("write event", "account", e.Account, "kind", e.Kind, "err", err)
		}
	}
}

// wait has an event wait in its lane. The caller holds mu.
func (q *queue) wait(w *queued) {
	name := laneOf(w.Event)
	if q.lanes[name] == nil {
		q.lanes[name] = &lane{}
	}
	l := q.lanes[name]
	heap.Push(&l.waits, w)
	l.stuck = l.stuck || w.stuck()
	signal(q.wake)
}

// grow ranks an event again that became more urgent because it waited.
func (q *queue) grow(w *queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.raise(w, w.ownRank())
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
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.known) - len(q.lately)
}

// backlog is what waits here.
func (q *queue) backlog() (all metrics.Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, since := range q.known {
		if !since.IsZero() {
			all.Waiting++
			all.Age = max(all.Age, time.Since(since))
		}
	}
	return all
}

// run notifies until more ends, and then waits for what is being notified. What waited here is dropped: the outbox has
// it.
func (q *queue) run(held, more context.Context) {
	defer q.trials.drop()
	var working sync.WaitGroup
	defer working.Wait()
	defer close(q.stopping)
	for more.Err() == nil {
		all, wait := []*queued(nil), redrawAgain
		_ = delay.Try(q.notifier.cfg.Log, "events of "+q.account, func() error {
			q.load(held)
			all, wait = q.start()
			return nil
		})
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

// stop is closed when nothing more is begun; nil where another replica owns the account.
func (q *queue) stop() <-chan struct{} {
	if q == nil {
		return nil
	}
	return q.stopping
}

// load adds what the outbox holds if that is not known here.
func (q *queue) load(ctx context.Context) {
	q.mu.Lock()
	missing := q.missing
	q.mu.Unlock()
	if !missing {
		return
	}
	events, err := q.notifier.cfg.Store.Outbox.Waiting(ctx, q.account)
	if err != nil {
		q.notifier.cfg.Log.WarnContext(ctx, "read outbox", "account", q.account, "err", err)
		return // it is read again within a second
	}
	q.mu.Lock()
	q.missing = false
	q.mu.Unlock()
	q.add(events)
}

// start takes out of the lanes what is to be notified now, and returns how long until more may be.
func (q *queue) start() (all []*queued, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = q.unpark(time.Now())
	for name, l := range q.lanes {
		rest := time.Until(l.paused)
		if name != "" { // after a 429 facts are read when a message can be sent
			rest = max(rest, q.notifier.cfg.Slack.HeldFor(slackconn.MethodPost, true))
		}
		if rest > 0 {
			wait = min(wait, rest)
			continue
		}
		for l.running < q.room(name) {
			w := q.take(l)
			if w == nil {
				break
			}
			l.running++
			all = append(all, w)
		}
	}
	return all, wait
}

// unpark has those wait for their turn that are due, all at once for the sake of their ranks, and returns how long
// until the next are. The caller holds mu.
func (q *queue) unpark(now time.Time) (wait time.Duration) {
	for len(q.aside.byRank) > 0 {
		w := q.aside.byRank[0]
		if rest := w.due.Sub(now); rest > 0 {
			return rest
		}
		heap.Pop(&q.aside)
		w.due = time.Time{}
		q.wait(w)
	}
	return whenWoken
}

// take takes the most urgent event of a lane that isn't held up, with its subjects; nil: there is none. The caller
// holds mu.
func (q *queue) take(l *lane) *queued {
	w := q.next(l)
	if w == nil {
		return nil
	}
	heap.Pop(&l.waits)
	q.claims[w.ID] = w
	for _, of := range w.subjects {
		q.holders[of] = w
	}
	return w
}

// next is the event that take would take. Those ahead of it in the lane, which are held up, wait from now on for what
// holds them up. That is as urgent as they are. The caller holds mu.
func (q *queue) next(l *lane) *queued {
	for len(l.waits) > 0 {
		w := l.waits[0]
		i := slices.IndexFunc(w.subjects, func(of string) bool { return q.holders[of] != nil && q.holders[of] != w })
		if i < 0 {
			return w
		}
		heap.Pop(&l.waits)
		of := w.subjects[i]
		q.behind[of] = append(q.behind[of], w)
		q.raise(q.holders[of], w.rank)
	}
	return nil
}

// raise makes an event as urgent as that rank, if it isn't. The caller holds mu.
func (q *queue) raise(w *queued, rank int) {
	w.rank = min(w.rank, rank)
	if w.index >= 0 && w.due.IsZero() {
		heap.Fix(&q.lanes[laneOf(w.Event)].waits, w.index)
	}
}

// release gives an event's subjects to others. The caller holds mu.
func (q *queue) release(w *queued) {
	delete(q.claims, w.ID)
	w.rank = w.ownRank()
	for _, of := range w.subjects {
		delete(q.holders, of)
		for _, other := range q.behind[of] {
			q.wait(other)
		}
		delete(q.behind, of)
	}
}
