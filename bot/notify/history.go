package notify

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// readings are the last readings of channels and threads. One serves all who verify a message that it must show.
type readings struct {
	slack *slackconn.Client
	begun time.Time

	mu       sync.Mutex
	last     map[record.Place]*reading
	expected map[record.Place]map[string]expected // what is in doubt, by delivery
}

// expected is a message in doubt, which a reading may show.
type expected struct {
	first    time.Time // when it was first tried
	failed   time.Time // when the last attempt did
	answered bool      // by Slack
	later    string    // the first delivery that was sent since then, and posted; "": none
}

// reading is one reading of a channel or thread.
type reading struct {
	begun, oldest time.Time
	read          chan struct{}     // closed when it is done
	found         map[string]string // ts of wafbot's own messages, by delivery
	err           error
}

func newReadings(s *slackconn.Client) *readings {
	return &readings{slack: s, begun: time.Now(), last: map[record.Place]*reading{}, expected: map[record.Place]map[string]expected{}}
}

const everyTick = time.Second / 2

// tick puts a time off to the next tick of a clock that all messages in doubt share: one reading then serves all that are due.
func (r *readings) tick(at time.Time) time.Time {
	return r.begun.Add((at.Sub(r.begun) + everyTick - 1).Truncate(everyTick))
}

// expect has readings of a post's place go back far enough for it.
func (r *readings) expect(p Post, e expected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expected[p.place()] == nil {
		r.expected[p.place()] = map[string]expected{}
	}
	r.expected[p.place()][p.Delivery] = e
}

// posted notes that Slack confirmed a post that was sent at a time. A reading that shows it shows also what Slack had posted before that time.
func (r *readings) posted(p Post, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for delivery, e := range r.expected[p.place()] {
		if e.answered && e.later == "" && e.failed.Before(sent) {
			e.later = p.Delivery
			r.expected[p.place()][delivery] = e
		}
	}
}

func (r *readings) settled(at record.Place, delivery string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.expected[at], delivery)
	if len(r.expected[at]) == 0 {
		delete(r.expected, at)
	}
}

const (
	readBefore = time.Minute // how long before a message was first tried its channel is read
	readingFor = time.Minute // how long a reading is kept
)

// find searches a post's channel, or thread, for its message, in a reading that was begun at a time or later; "": it isn't there. current tells that
// the reading shows a message that was sent after Slack had answered this one's last attempt.
func (r *readings) find(ctx context.Context, p Post, first, begun time.Time) (ts string, current bool, err error) {
	one, mine := r.reading(p.place(), first.Add(-readBefore), begun)
	if mine {
		one.found, one.err = r.read(ctx, p.place(), one.oldest)
		r.end(p.place(), one)
	}
	select {
	case <-ctx.Done():
		return "", false, ctx.Err()
	case <-one.read:
		return one.found[p.Delivery], one.found[r.later(p)] != "", one.err
	}
}

// later is the delivery of a message that was posted after a post's last attempt had failed; "": none is known.
func (r *readings) later(p Post) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expected[p.place()][p.Delivery].later
}

// end has those wake who wait for a reading. One that failed serves no one else.
func (r *readings) end(at record.Place, one *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.err != nil && r.last[at] == one {
		delete(r.last, at)
	}
	close(one.read)
}

// reading is a reading that serves, also one that goes on; mine tells that the caller has to do it.
func (r *readings) reading(at record.Place, oldest, begun time.Time) (one *reading, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, known := r.last[at]
	if known && !one.begun.Before(begun) && !oldest.Before(one.oldest) {
		return one, false
	}
	for _, e := range r.expected[at] {
		if first := e.first.Add(-readBefore); first.Before(oldest) {
			oldest = first
		}
	}
	now := time.Now()
	maps.DeleteFunc(r.last, func(_ record.Place, old *reading) bool { return now.Sub(old.begun) > readingFor })
	one = &reading{begun: now, oldest: oldest, read: make(chan struct{})}
	r.last[at] = one
	return one, true
}

// read reads a channel or thread (conversations.history, conversations.replies).
func (r *readings) read(ctx context.Context, at record.Place, oldest time.Time) (found map[string]string, err error) {
	self, err := r.slack.Self(ctx)
	if err != nil {
		return nil, err
	}
	found = map[string]string{}
	q := slackconn.HistoryQuery{Channel: at.Channel, Thread: at.TS, Oldest: fmt.Sprintf("%d.000000", oldest.Unix())}
	for {
		msgs, next, err := r.slack.History(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("find message in %s: %w", at.Channel, slackconn.WithoutURL(err))
		}
		for _, m := range msgs {
			if delivery, ok := m.Metadata().EventPayload["delivery"].(string); ok && delivery != "" && m.BotID == self.Bot {
				found[delivery] = m.TS
			}
		}
		if next.Cursor == "" {
			return found, nil
		}
		q = next
	}
}
