package bot

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// teller tells what is in an account's outbox: in each channel one piece of news after another, incidents first. What only a card shows,
// figures and state, posts nothing and doesn't wait for what is posted: it goes a way of its own.
type teller struct {
	bot     *Bot
	account string
	since   time.Time // when this replica began to tell

	mu      sync.Mutex
	lanes   map[string][]queued  // what waits, by channel; by "" that which posts nothing
	running map[string]bool      // lanes that are told in
	known   map[string]time.Time // ids that wait, or when they were told: an outbox read meanwhile must not bring them again
	tried   map[string]bool      // ids that this replica tried to post
	moved   map[string]bool      // ids that go to the account's own channel, for theirs can't be posted to
	missing bool                 // the outbox holds what isn't known here
	wake    chan struct{}        // something is to be done
	urgent  chan struct{}        // closed when something urgent comes to wait
	slots   map[string]bool      // deliveries for which the right to post was taken
}

func newTeller(b *Bot, account string) *teller {
	return &teller{
		bot: b, account: account, since: time.Now(), lanes: map[string][]queued{}, running: map[string]bool{}, known: map[string]time.Time{},
		tried: map[string]bool{}, moved: map[string]bool{}, missing: true, wake: make(chan struct{}, 1), urgent: make(chan struct{}), slots: map[string]bool{},
	}
}

// queued is news that waits for its turn.
type queued struct {
	record.Event
	since  time.Time // when this replica came to know of it
	failed int       // how often it could not be told
}

// stuckAfter is how often news fails before others go first: Slack may be away, which says nothing about this one, or refuse it for ever.
const stuckAfter = 3

func (q queued) stuck() bool { return q.failed >= stuckAfter }

// stormPatience is how long the first card of a storm waits behind incidents, of which each takes a second: it has to be there, and right, within five.
const stormPatience = 2 * time.Second

// rank is how urgent it is by now.
func (q queued) rank() int {
	if q.Storm != nil && q.Reason == record.NewAttack && time.Since(q.since) >= stormPatience {
		return 0
	}
	return q.Rank()
}

// lane is where a piece of news waits for its turn.
func lane(n record.Event) string {
	switch n.Reason {
	case record.Grew, record.WentQuiet, record.Resumed:
		return ""
	}
	return n.Channel
}

// urgent reports whether a piece of news takes the room that others leave.
func urgent(n record.Event) bool { return n.Rank() <= 2 }

// add puts news into their lanes.
func (t *teller) add(news []record.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range news {
		if _, ok := t.known[n.ID]; ok {
			continue
		}
		t.enqueue(queued{Event: n, since: time.Now()})
		if urgent(n) {
			close(t.urgent)
			t.urgent = make(chan struct{})
		}
	}
	signal(t.wake)
}

// enqueue has a piece of news wait in its lane. The caller holds mu.
func (t *teller) enqueue(q queued) {
	t.known[q.ID] = time.Time{}
	t.lanes[lane(q.Event)] = append(t.lanes[lane(q.Event)], q)
}

// expect has the outbox read if it holds more than is known here.
func (t *teller) expect(n int) {
	if n <= t.waiting() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missing = true
	signal(t.wake)
}

// waiting is how much is known here that has not been told.
func (t *teller) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, told := range t.known {
		if told.IsZero() {
			n++
		}
	}
	return n
}

// run tells until more ends, and then waits for what is being told. What waited in memory is dropped: the outbox has it.
func (t *teller) run(held, more context.Context) {
	var telling sync.WaitGroup
	defer telling.Wait()
	for {
		t.load(held)
		for _, lane := range t.idle() {
			telling.Go(func() { t.tellLane(held, more, lane) })
		}
		select {
		case <-more.Done():
			return
		case <-t.wake:
		}
	}
}

// idle are the lanes in which something waits and nobody tells; somebody is to begin to.
func (t *teller) idle() (lanes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for lane, queue := range t.lanes {
		if len(queue) > 0 && !t.running[lane] {
			t.running[lane] = true
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// rememberFor is how long what was told is known, so that an outbox that was read before doesn't bring it again.
const rememberFor = 2 * time.Minute

// load adds what the outbox holds if that is not known here, and forgets what was told long ago.
func (t *teller) load(ctx context.Context) {
	t.mu.Lock()
	missing := t.missing
	t.mu.Unlock()
	if !missing {
		return
	}
	news, err := t.bot.cfg.Memory.Waiting(ctx, t.account)
	if err != nil {
		t.bot.cfg.Log.Warn("read outbox", "account", t.account, "err", err)
		return // it is looked for again within a second
	}
	t.mu.Lock()
	t.missing = false
	for id, told := range t.known {
		if !told.IsZero() && time.Since(told) > rememberFor {
			delete(t.known, id)
		}
	}
	t.mu.Unlock()
	t.add(news)
}

// next takes the most urgent piece of news of a lane; when there is none, nobody tells in it any more.
func (t *teller) next(lane string) (q queued, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := t.lanes[lane]
	if len(queue) == 0 {
		delete(t.lanes, lane)
		delete(t.running, lane)
		return queued{}, false
	}
	i := 0
	for j := range queue {
		if before(queue[j], queue[i]) {
			i = j
		}
	}
	q = queue[i]
	t.lanes[lane] = slices.Delete(queue, i, i+1)
	return q, true
}

// before orders news of one lane.
func before(a, b queued) bool {
	if a.stuck() != b.stuck() {
		return b.stuck()
	}
	if a.rank() != b.rank() {
		return a.rank() < b.rank()
	}
	return a.At.Before(b.At) || a.At.Equal(b.At) && a.Revision < b.Revision
}

// tellLane tells what waits in a lane. When that fails it pauses, unless something urgent comes: Slack may be back, and may take this one.
func (t *teller) tellLane(held, more context.Context, lane string) {
	const most = time.Minute
	failed := 0
	for more.Err() == nil {
		pressed := t.pressed()
		q, ok := t.next(lane)
		if !ok {
			return
		}
		first, err := t.turn(held, q.Event)
		if err == nil && !first {
			t.putBack(q)
			continue
		}
		if err == nil {
			err = t.bot.tell(held, q.Event)
		}
		if err == nil {
			t.told(q.Event)
			failed = 0
			continue
		}
		if held.Err() != nil {
			return
		}
		if moved := t.again(q, err); moved {
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

func (t *teller) told(n record.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[n.ID] = time.Now()
	delete(t.tried, n.ID)
	delete(t.slots, n.ID)
	for i, q := range t.lanes[lane(n)] { // Slack is there: each is tried once more in its turn
		t.lanes[lane(n)][i].failed = min(q.failed, stuckAfter-1)
	}
	t.bot.metrics.told.WithLabelValues(string(n.Reason)).Inc()
}

// again puts back what could not be told. A channel that can't be posted to gives it to the account's own channel, so that it is never lost.
func (t *teller) again(q queued, err error) (moved bool) {
	t.bot.cfg.Log.Error("tell news", "account", q.Account, "reason", q.Reason, "channel", q.Channel, "err", err)
	t.bot.metrics.failed.Inc()
	if a, ok := t.bot.account(q.Account); ok && a.Channel != q.Channel && errors.Is(err, errNowhere) {
		q.Channel = a.Channel
		t.move(q.Event)
		return true
	}
	q.failed++
	t.putBack(q)
	return false
}

// move has a piece of news told in the channel that it names by now.
func (t *teller) move(n record.Event) {
	t.mu.Lock()
	t.moved[n.ID] = true
	delete(t.known, n.ID)
	t.mu.Unlock()
	t.add([]record.Event{n})
}

// putBack has a piece of news wait for its turn again.
func (t *teller) putBack(q queued) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enqueue(q)
	signal(t.wake)
}

// wasMoved reports whether a delivery was moved to another channel and not tried there yet.
func (t *teller) wasMoved(delivery string) (moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	moved = t.moved[delivery]
	delete(t.moved, delivery)
	return moved
}

// trying notes that this replica tries to post a delivery, and reports whether it did before.
func (t *teller) trying(delivery string) (before bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.tried[delivery]
	t.tried[delivery] = true
	return before
}
