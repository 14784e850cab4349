package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// runLane notifies what waits in a lane. When that fails it pauses, unless something urgent comes: Slack may be back, and may take this one.
func (q *queue) runLane(held, more context.Context, lane string) {
	const most = time.Minute
	failed := 0
	for more.Err() == nil {
		pressed := q.pressed()
		w, ok := q.next(lane)
		if !ok {
			return
		}
		first, err := q.turn(held, w.Event)
		if err == nil && !first {
			q.putBack(w)
			continue
		}
		if err == nil {
			err = q.notifier.handle(held, w.Event)
		}
		if err == nil {
			q.notified(w.Event)
			failed = 0
			continue
		}
		if held.Err() != nil {
			return
		}
		if moved := q.again(w, err); moved {
			continue
		}
		select {
		case <-more.Done():
			return
		case <-pressed:
		case <-time.After(delay.Backoff(failed, time.Second, most)):
		}
		failed++
	}
}

// notified notes that an event was notified.
func (q *queue) notified(e record.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known[e.ID] = time.Now()
	delete(q.tried, e.ID)
	delete(q.slots, e.ID)
	for i, w := range q.lanes[lane(e)] { // Slack is there: each is tried once more in its turn
		q.lanes[lane(e)][i].failed = min(w.failed, stuckAfter-1)
	}
	q.notifier.metrics.notified.WithLabelValues(string(e.Kind)).Inc()
}

// again puts back what could not be notified. A channel that can't be posted to gives it to the account's own channel, so that it is never lost.
func (q *queue) again(w queued, err error) (moved bool) {
	q.notifier.cfg.Log.Error("notify event", "account", w.Account, "kind", w.Kind, "channel", w.Channel, "err", err)
	q.notifier.metrics.failed.Inc()
	if a, ok := q.notifier.account(w.Account); ok && a.Channel != w.Channel && errors.Is(err, errNowhere) {
		w.Channel = a.Channel
		q.move(w.Event)
		return true
	}
	w.failed++
	q.putBack(w)
	return false
}

// move has an event notified in the channel that it names by now.
func (q *queue) move(e record.Event) {
	q.mu.Lock()
	q.moved[e.ID] = true
	delete(q.known, e.ID)
	q.mu.Unlock()
	q.add([]record.Event{e})
}

// putBack has an event wait for its turn again.
func (q *queue) putBack(w queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enqueue(w)
	signal(q.wake)
}

// trying notes that this replica tries to post a delivery, and reports whether it did before, and whether it was moved to another channel and not
// tried there yet.
func (q *queue) trying(delivery string) (before, moved bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, moved = q.tried[delivery], q.moved[delivery]
	q.tried[delivery] = true
	delete(q.moved, delivery)
	return before, moved
}

// turn takes the right to post an event that isn't urgent. It reports false if something urgent came to wait for the channel meanwhile,
// which goes first. That is done before anything is written down about the attempt to post.
func (q *queue) turn(ctx context.Context, e record.Event) (first bool, err error) {
	if urgent(e) || lane(e) == "" {
		return true, nil
	}
	for {
		pressed := q.pressed()
		if q.anyUrgent(e.Channel) {
			return false, nil
		}
		wait, err := q.notifier.deliver.postSlot(ctx, e.Channel, false)
		if err != nil {
			return false, err
		}
		if wait == 0 {
			q.keepSlot(e.ID)
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
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

// anyUrgent reports whether something urgent waits in a lane that isn't stuck.
func (q *queue) anyUrgent(lane string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.lanes[lane], func(w queued) bool { return urgent(w.Event) && !w.stuck() })
}

func (q *queue) keepSlot(delivery string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots[delivery] = true
}

// slot reports whether the right to post a delivery was taken already. It is given once.
func (q *queue) slot(delivery string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.slots[delivery]
	delete(q.slots, delivery)
	return taken
}
