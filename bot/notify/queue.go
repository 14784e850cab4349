package notify

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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
	account  Account
	began    time.Time // when this replica began to post

	mu      sync.Mutex
	lanes   map[string]*lane     // by channel; by "" that which posts nothing
	aside   []*queued            // parked events that are not due
	known   map[string]*queued   // what waits, by id; nil: it was notified lately, and an outbox read meanwhile must not bring it again
	lately  []done               // the latter, in order
	holders map[string]*queued   // events that are being notified or parked, by subject
	behind  map[string][]*queued // what waits for the holder of a subject
	missing bool                 // the outbox holds what isn't known here
	wake    chan struct{}        // something is to be done

	stopping chan struct{} // closed when nothing more is begun: what waits for its turn at Slack then doesn't
}

// done is when an event was notified.
type done struct {
	id string
	at time.Time
}

func newQueue(n *Notifier, a Account) *queue {
	return &queue{
		notifier: n, account: a, began: time.Now(), missing: true, wake: make(chan struct{}, 1),
		stopping: make(chan struct{}),
		lanes:    map[string]*lane{}, known: map[string]*queued{}, holders: map[string]*queued{},
		behind: map[string][]*queued{},
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
		q.known[e.ID] = w
		q.wait(w)
		if w.stormCard() {
			time.AfterFunc(stormPatience, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.raise(w, w.ownRank())
			})
		}
		if urgent(e) {
			for _, l := range q.lanes { // Slack may be back, and may take this one
				l.paused = time.Time{}
			}
		}
	}
}

// saved adds the events of what a poll stored. What waits is drawn as its attack was stored last.
func (q *queue) saved(u record.PollUpdate) {
	q.update(u.Attacks)
	events := slices.Clone(u.Events)
	for i, e := range events {
		if s, ok := u.Attacks[e.Subject]; ok {
			events[i].Attack = &s
		}
	}
	q.add(events)
}

// update gives what waits the newest states of its attacks.
func (q *queue) update(attacks map[string]record.AttackState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.known {
		if w == nil {
			continue
		}
		if s, ok := attacks[w.Subject]; ok {
			w.Attack = &s
		}
	}
}

// waiting is an event as it is to be notified now, and what the poller found about its attack and waits. Figures need
// none of that, and nothing else waits where an attack's first event is its last: so a burst of new attacks doesn't
// search all that waits for each. The caller doesn't hold mu.
func (q *queue) waiting(of *queued) (e record.Event, all []record.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	alone := of.ID == record.CardDelivery(of.Account, of.Subject) && of.Attack != nil && of.Attack.Revision == of.Order
	if alone || of.Kind == record.Grew || of.Kind == record.WentQuiet {
		return of.Event, []record.Event{of.Event}
	}
	for _, w := range q.known {
		if w != nil && w.Subject == of.Subject && w.Subject != "" && w.Order > 0 && !w.said {
			all = append(all, w.Event)
		}
	}
	return of.Event, all
}

// said notes that another message says an event, which was taken off the outbox.
func (q *queue) said(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.known[id]; w != nil {
		w.said = true
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

// expect makes run read the outbox if that holds more than is known here.
func (q *queue) expect(events int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if events > len(q.known)-len(q.lately) {
		q.missing = true
		signal(q.wake)
	}
}

// backlog is what waits here.
func (q *queue) backlog() (all metrics.Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all.Waiting = len(q.known) - len(q.lately)
	for _, w := range q.known {
		if w != nil {
			all.Age = max(all.Age, time.Since(w.since))
		}
	}
	return all
}

// run notifies until more ends, and then waits for what is being notified. What waited here is dropped: the outbox has
// it.
func (q *queue) run(held, more context.Context) {
	defer q.notifier.tried.drop(q.account.Name, "")
	var working sync.WaitGroup
	defer working.Wait()
	defer close(q.stopping)
	for more.Err() == nil {
		var all []func(context.Context)
		wait := redrawAgain
		delay.Run(q.notifier.cfg.Log, "events of "+q.account.Name, func() {
			if q.load(held) {
				all, wait = q.start()
			}
		})
		for _, work := range all {
			working.Go(func() { work(held) })
		}
		select {
		case <-more.Done():
		case <-q.wake:
		case <-time.After(wait):
		}
	}
}

// load adds what the outbox holds if that is not known here. As long as it can't be read nothing is begun: what waits
// there may be about the same.
func (q *queue) load(ctx context.Context) bool {
	q.mu.Lock()
	missing := q.missing
	q.missing = false
	q.mu.Unlock()
	if !missing {
		return true
	}
	events, err := q.unread(ctx)
	if err != nil {
		q.notifier.cfg.Log.WarnContext(ctx, "read outbox", "account", q.account.Name, "err", err)
		q.mu.Lock()
		q.missing = true // it is read again soon
		q.mu.Unlock()
	}
	q.add(events)
	return err == nil
}

// unread reads what the outbox holds and isn't known here, with what is stored of the attacks.
func (q *queue) unread(ctx context.Context) (events []record.Event, err error) {
	s := q.notifier.cfg.Store
	all, err := s.Outbox.Waiting(ctx, q.account.Name)
	var attacks []string
	q.mu.Lock()
	for _, e := range all {
		if _, known := q.known[e.ID]; !known {
			events, attacks = append(events, e), append(attacks, record.AttackID(e.Account, e.Subject))
		}
	}
	q.mu.Unlock()
	if err != nil || len(events) == 0 {
		return nil, err
	}
	states, err := s.Attacks.StatesOf(ctx, q.account.Name, attacks)
	for i, id := range attacks {
		if s, stored := states[id]; stored {
			events[i].Attack = &s
		}
	}
	return events, err
}

// start is what is to be done now, and how long until there is more.
func (q *queue) start() (all []func(context.Context), wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = q.unpark(time.Now())
	for channel, l := range q.lanes {
		work, rest := q.begin(channel, l)
		for ; work != nil; work, rest = q.begin(channel, l) {
			all = append(all, work)
		}
		wait = min(wait, rest)
	}
	return all, wait
}

// unpark puts parked events that are due back into their lanes. It returns how long until the next is due. The caller
// holds mu.
func (q *queue) unpark(now time.Time) (wait time.Duration) {
	wait = whenWoken
	aside := q.aside
	q.aside = nil
	for _, w := range aside {
		if rest := w.due.Sub(now); rest > 0 {
			q.aside, wait = append(q.aside, w), min(wait, rest)
		} else {
			q.wait(w)
		}
	}
	return wait
}

// begin is what is to be done in a lane now: to notify its most urgent event, or to ask for the right to post first,
// where there is a pace; so that what is more urgent by then goes first, with facts of then. nil: nothing, and not
// before rest is over. The caller holds mu.
func (q *queue) begin(channel string, l *lane) (work func(context.Context), rest time.Duration) {
	room, paced := atOnce, channel != "" && q.notifier.paced(slackconn.MethodPost)
	if paced || channel == "" {
		room = 1
	}
	rest = time.Until(l.paused)
	if channel != "" { // after a 429 facts are read when a message can be sent
		rest = max(rest, q.notifier.cfg.Slack.HeldFor(slackconn.MethodPost, true))
	}
	if rest > 0 {
		return nil, rest
	}
	w := q.next(l)
	if w == nil || l.running >= room {
		return nil, whenWoken
	}
	if !paced || l.slot {
		q.take(l, w)
		return func(held context.Context) { q.work(held, w) }, 0
	}
	if rest = time.Until(l.asks); rest > 0 && (l.urgent || !urgent(w.Event)) {
		return nil, rest
	}
	l.urgent = urgent(w.Event)
	l.running++
	return func(held context.Context) { q.ask(held, channel, l) }, 0
}

// ask asks for the right to post to a channel.
func (q *queue) ask(ctx context.Context, channel string, l *lane) {
	begun := time.Now()
	wait, err := q.notifier.postSlot(ctx, channel, l.urgent)
	q.mu.Lock()
	defer q.mu.Unlock()
	l.running--
	l.slot, l.asks = err == nil && wait == 0, time.Now().Add(wait)
	if err != nil {
		q.notifier.cfg.Log.WarnContext(ctx, "ask for the right to post", "account", q.account.Name, "channel", channel,
			"err", err)
		l.fail(begun, 0)
	}
	signal(q.wake)
}

// slot reports whether there is a right to post to a channel, which the caller uses up.
func (q *queue) slot(channel string) (taken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lanes[channel]; l != nil {
		taken, l.slot = l.slot, false
	}
	return taken
}

// next is the most urgent event of a lane that isn't held up. Those ahead of it, which are, wait from now on for what
// holds them up. That is as urgent as they are. The caller holds mu.
func (q *queue) next(l *lane) *queued {
	for len(l.waits) > 0 {
		w := l.waits[0]
		i := slices.IndexFunc(w.subjects, func(of string) bool { return q.holders[of] != nil && q.holders[of] != w })
		if i < 0 {
			return w
		}
		l.waits = slices.Delete(l.waits, 0, 1)
		of := w.subjects[i]
		q.behind[of] = append(q.behind[of], w)
		q.raise(q.holders[of], w.rank)
	}
	return nil
}

// take takes the first event of a lane, with its subjects. The caller holds mu.
func (q *queue) take(l *lane, w *queued) {
	l.waits = slices.Delete(l.waits, 0, 1)
	l.running++
	for _, of := range w.subjects {
		q.holders[of] = w
	}
}

// raise makes an event as urgent as that rank, if it isn't. The caller holds mu.
func (q *queue) raise(w *queued, rank int) {
	l := q.lanes[laneOf(w.Event)]
	i := slices.Index(l.waits, w)
	if i >= 0 {
		l.waits = slices.Delete(l.waits, i, i+1)
	}
	if w.rank = min(w.rank, rank); i >= 0 {
		l.insert(w)
	}
}

// wait puts an event into its lane. The caller holds mu.
func (q *queue) wait(w *queued) {
	channel := laneOf(w.Event)
	if q.lanes[channel] == nil {
		q.lanes[channel] = &lane{}
	}
	q.lanes[channel].insert(w)
	signal(q.wake)
}

// orderError says that an event waits for others about the same thing, which became known when it was handled.
type orderError struct{ subject string }

func (e *orderError) Error() string { return "waits for others about " + e.subject }

// covers reports whether an event that is being notified holds an attack. One that no queue notifies goes by the event
// that it is notified for.
func (q *queue) covers(e record.Event, attack string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.holders[subject(e)]
	return attack == "" || w == nil || w.ID != e.ID || q.holders[attack] == w
}

// work notifies one event.
func (q *queue) work(held context.Context, w *queued) {
	begun := time.Now()
	e, waiting := q.waiting(w)
	err := delay.Try(q.notifier.cfg.Log, "an event", func() error {
		return q.notifier.handle(record.WithRequest(held, w.Request), q.account, e, waiting...)
	})
	if err == nil {
		q.notifier.tried.drop(q.account.Name, w.ID)
	} else if held.Err() != nil {
		err = errStopping
	}
	q.ended(w, begun, err)
}

// ended makes room in the lane of an event that was worked on, and puts the event back if that failed. The event gives
// up its subjects, unless its message is in doubt or waits for a card.
func (q *queue) ended(w *queued, begun time.Time, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer signal(q.wake)
	l := q.lanes[laneOf(w.Event)]
	l.running--
	var order *orderError
	var later *laterError
	switch {
	case err == nil:
		q.known[w.ID] = nil
		q.lately = append(q.lately, done{w.ID, time.Now()})
		q.release(w)
		l.succeed()
		q.notifier.cfg.Metrics.Notified.WithLabelValues(string(w.Kind), string(w.Severity())).Inc()
		return
	case errors.As(err, &later):
		w.parked, w.due = true, later.due
		q.aside = append(q.aside, w)
		if later.cause != nil {
			q.failed(slog.LevelWarn, w, err)
		}
		if later.failed {
			l.fail(begun, doubtsFree)
		}
		return
	case errors.Is(err, errStopping), errors.As(err, &order):
	default:
		q.failed(slog.LevelError, w, err)
		w.failed++
		w.parked = w.parked && !w.stuck()
		if w.Channel != q.account.Channel && errors.Is(err, errNowhere) {
			w.Channel = q.account.Channel // so that it is never lost
		} else {
			l.fail(begun, 0)
		}
	}
	if !w.parked {
		q.release(w)
	}
	if order != nil {
		w.subjects = append(w.subjects, order.subject)
		for _, c := range l.waits { // its message belongs under the card of its attack, which goes first
			if c.subjects[0] == order.subject && c.ID == record.CardDelivery(c.Account, c.Subject) {
				w.rank = max(w.rank, c.rank+1)
			}
		}
	}
	q.wait(w)
}

// failed notes that an event couldn't be notified yet. Of a message in doubt it only warns: it may be there.
func (q *queue) failed(level slog.Level, w *queued, err error) {
	ctx := record.WithRequest(context.Background(), w.Request) // which the log names
	q.notifier.cfg.Log.Log(ctx, level, "notify event", "account", w.Account, "kind", w.Kind, "channel", w.Channel,
		"err", err)
	q.notifier.cfg.Metrics.NotifyFailures.Inc()
}

// release gives an event's subjects to others. The caller holds mu.
func (q *queue) release(w *queued) {
	w.rank, w.parked = w.ownRank(), false
	for _, of := range w.subjects {
		if q.holders[of] != w {
			continue
		}
		delete(q.holders, of)
		for _, other := range q.behind[of] {
			q.wait(other)
		}
		delete(q.behind, of)
	}
}
