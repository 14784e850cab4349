package notify

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// lane is what waits for its turn in a channel.
type lane struct {
	waits   byRank
	stuck   bool      // some of them may be
	running int       // how many are being notified
	failed  int       // how often in a row it failed
	since   time.Time // when it last did: what was begun before says nothing more
	paused  time.Time // until when nothing more is begun
}

const (
	postsAtOnce = 8               // in a channel without a pace
	room        = 2 * postsAtOnce // so that a post is on its way while others are drawn and recorded
	mostPause   = time.Minute     // of a lane
	doubtsFree  = 3               // in a row, before the lane pauses: others may go through
)

// room is how many events of a lane are notified at once.
func (q *queue) room(name string) int {
	if name == "" || q.notifier.deliver.paced(slackconn.MethodPost) {
		return 1
	}
	return room
}

// orderError says that an event waits for others about the same thing, which became known when it was handled.
type orderError struct{ subject string }

func (e *orderError) Error() string { return "waits for others about " + e.subject }

// work notifies one event. When that fails its lane pauses, unless something urgent comes: Slack may be back, and may
// take that.
func (q *queue) work(held context.Context, w *queued) {
	held = record.WithRequest(held, w.Request)
	begun := time.Now()
	first := false
	err := delay.Try(q.notifier.cfg.Log, "an event", func() (err error) {
		if first, err = q.turn(held, w); err == nil && first {
			err = q.notifier.handle(held, w.Event)
		}
		return err
	})
	var order *orderError
	var later *laterError
	switch {
	case err == nil && first:
		q.notified(w)
	case err == nil || held.Err() != nil || errors.Is(err, errStopping):
		q.putBack(w)
	case errors.As(err, &order):
		q.putBack(w, order.subject)
	case errors.As(err, &later):
		q.park(w, begun, later)
	default:
		q.again(w, begun, err)
	}
}

// notified notes that an event was notified.
func (q *queue) notified(w *queued) {
	q.trials.drop(w.ID)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known[w.ID] = time.Time{}
	q.lately = append(q.lately, done{w.ID, time.Now()})
	delete(q.slots, w.ID)
	w.parked = false
	l := q.end(w)
	l.failed, l.paused = 0, time.Time{}
	if l.stuck { // Slack is there: each is tried once more in its turn
		l.stuck = false
		for _, other := range l.waits {
			other.failed = min(other.failed, stuckAfter-1)
		}
		heap.Init(&l.waits)
	}
	q.notifier.cfg.Metrics.Notified.WithLabelValues(string(w.Kind), string(w.Severity())).Inc()
}

// end makes room in an event's lane, and gives its subjects to others, unless its message is in doubt. The caller holds
// mu.
func (q *queue) end(w *queued) *lane {
	l := q.lanes[laneOf(w.Event)]
	l.running--
	if !w.parked {
		q.release(w)
	}
	signal(q.wake)
	return l
}

// putBack has an event wait for its turn again, which is about these subjects, too. Its message belongs under the card
// of its attack: while that waits in the lane, the card goes first.
func (q *queue) putBack(w *queued, subjects ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.end(w)
	w.subjects = append(w.subjects, subjects...)
	for _, c := range l.waits {
		if slices.Contains(subjects, c.subjects[0]) && c.ID == record.CardDelivery(c.Account, c.Attack().ID) {
			w.rank = max(w.rank, c.rank+1)
		}
	}
	q.wait(w)
}

// park puts an event aside until it is due. It keeps its subjects: others about the same thing wait for it. After
// several attempts in a row whose outcome isn't known the lane pauses.
func (q *queue) park(w *queued, begun time.Time, later *laterError) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.parked, w.due = true, later.due
	l := q.end(w)
	heap.Push(&q.aside, w)
	if later.cause != nil {
		q.notifier.cfg.Log.WarnContext(w.within(), "notify event", "account", w.Account, "kind", w.Kind, "channel", w.Channel, "err", later)
		q.notifier.cfg.Metrics.NotifyFailures.Inc()
	}
	if later.failed {
		l.fail(begun, doubtsFree)
	}
}

// fail pauses a lane in which an attempt failed, unless what fails was begun before another did: free is how often in a
// row it doesn't.
func (l *lane) fail(begun time.Time, free int) {
	if begun.Before(l.since) {
		return
	}
	l.since = time.Now()
	if l.failed++; l.failed > free {
		l.paused = l.since.Add(delay.Backoff(l.failed-free-1, time.Second, mostPause))
	}
}

// again puts back what could not be notified. A channel that can't be posted to gives it to the account's own channel,
// so that it is never lost.
func (q *queue) again(w *queued, begun time.Time, err error) {
	q.notifier.cfg.Log.ErrorContext(w.within(), "notify event", "account", w.Account, "kind", w.Kind, "channel", w.Channel, "err", err)
	q.notifier.cfg.Metrics.NotifyFailures.Inc()
	q.mu.Lock()
	defer q.mu.Unlock()
	w.failed++
	w.parked = w.parked && !w.stuck()
	l := q.end(w)
	if a, ok := q.notifier.account(w.Account); ok && a.Channel != w.Channel && errors.Is(err, errNowhere) {
		w.Channel = a.Channel
		q.wait(w)
		return
	}
	q.wait(w)
	l.fail(begun, 0)
}

// covers reports whether an event holds an attack. One that no queue notifies goes by the event that it is notified
// for.
func (q *queue) covers(id, attack string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.claims[id]
	return w == nil || attack == "" || slices.Contains(w.subjects, attack)
}

// turn takes the right to post an event that isn't urgent. It reports false if something urgent came to wait for the
// channel meanwhile, which goes first. That is done before anything is written down about the attempt to post.
func (q *queue) turn(ctx context.Context, w *queued) (first bool, err error) {
	if urgent(w.Event) || laneOf(w.Event) == "" || q.hasSlot(w.ID) {
		return true, nil
	}
	for {
		pressed := q.pressed()
		if q.anyUrgent(w) {
			return false, nil
		}
		wait, err := q.notifier.deliver.postSlot(ctx, w.Channel, false)
		if err != nil {
			return false, err
		}
		if wait == 0 {
			q.keepSlot(w.ID)
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-q.stopping:
			return false, nil
		case <-pressed:
		case <-time.After(wait):
		}
	}
}

// pressed is closed when something urgent comes to wait.
func (q *queue) pressed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.urgent
}

// anyUrgent reports whether something urgent waits in an event's lane that isn't stuck, nor held up by another event.
func (q *queue) anyUrgent(than *queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	var others []*queued
	// A parked event stays as urgent as what waits for it. Where it would be taken first again, it has nothing to wait
	// for.
	if next := q.next(q.lanes[laneOf(than.Event)]); next != nil && (!than.parked || before(next, than)) {
		others = append(others, next)
	}
	if !than.parked { // else what is about the same waits for it
		for _, of := range than.subjects {
			others = append(others, q.behind[of]...)
		}
	}
	return slices.ContainsFunc(others, func(w *queued) bool {
		return laneOf(w.Event) == laneOf(than.Event) && w.rank <= urgentRank && !w.stuck()
	})
}

func (q *queue) keepSlot(delivery string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots[delivery] = true
}

func (q *queue) hasSlot(delivery string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.slots[delivery]
}

// slot reports whether the right to post a delivery was taken already. It is given once.
func (q *queue) slot(delivery string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.slots[delivery]
	delete(q.slots, delivery)
	return taken
}
