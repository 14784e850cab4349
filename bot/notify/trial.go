package notify

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// laterError says that an event is handled again when it is due. Others of its channel go on meanwhile; later events of its attack wait for it.
type laterError struct {
	due    time.Time
	failed bool  // an attempt to post has just failed
	cause  error // nil: nothing failed
}

func (e *laterError) Error() string {
	if e.cause == nil {
		return "handled again later"
	}
	return fmt.Sprintf("handled again later: %v", e.cause)
}

func (e *laterError) Unwrap() error { return e.cause }

// trial is what this replica knows of the attempts to post a delivery. One goroutine at a time uses it: the one that holds its event's subjects.
type trial struct {
	first      time.Time              // when the delivery was first tried, by any replica
	settled    time.Time              // when what another replica sent has arrived, or never will; zero: none sent it
	posted     record.Place           // where it is; zero: not known
	doubts     map[record.Place]doubt // by channel and thread to which it was sent
	failed     int                    // how often it was sent and the outcome was not known
	unread     int                    // how often in a row the history could not be read
	unanswered bool                   // an attempt got no answer
}

// doubt is an attempt that may have posted.
type doubt struct {
	due     []time.Time // when to verify whether the message is there, in order
	current time.Time   // since when an empty history counts that shows a later message; zero: it doesn't before the last of due
}

const (
	verifyFirst   = time.Second      // how long after an answer it is first verified whether a message was posted
	verifyCurrent = 3 * time.Second  // after which a history that shows a message sent since the answer shows this one, too
	verifyLast    = 5 * time.Second  // after which Slack shows in a history what it posted
	arrives       = 30 * time.Second // after it was sent a request without an answer has arrived, or never will
	triesFree     = 4                // so often a delivery is sent before its pauses grow
	verifyPause   = time.Minute      // at most, between two attempts of a delivery whose outcome is never known
)

// doubt notes that a message sent to a place may have been posted. Where an answer came, Slack is done with the request: an empty history counts
// after Slack's own lag. Where none came, the request may still arrive.
func (t *trial) doubt(at record.Place, sent, now time.Time, answered bool) {
	pause := delay.Backoff(max(0, t.failed+1-triesFree), verifyLast, verifyPause)
	d := doubt{due: []time.Time{now.Add(verifyFirst), now.Add(pause)}}
	if arrived := sent.Add(arrives); !answered && arrived.After(d.due[1]) {
		d.due = append(d.due, arrived)
	}
	if answered && pause == verifyLast {
		d.current = now.Add(verifyCurrent)
		d.due = slices.Insert(d.due, 1, d.current)
	}
	t.doubts[at] = d
	t.unanswered = t.unanswered || !answered
	t.failed++
}

// verifications are when to verify whether the message is at a place. An empty history that was read at the last of them, or later, counts.
// None: no attempt can have posted it there.
func (t *trial) verifications(at record.Place) []time.Time {
	due := slices.Clone(t.doubts[at].due)
	if !t.settled.IsZero() {
		due = append(due, t.settled)
		slices.SortFunc(due, time.Time.Compare)
	}
	return due
}

// counts reports whether a history without the message shows that no attempt posted it at a place. It was read at a time or later, and is current if
// it shows a message that was sent after Slack had answered the last attempt.
func (t *trial) counts(at record.Place, read time.Time, current bool) bool {
	due := t.verifications(at)
	needed := due[len(due)-1]
	if d := t.doubts[at]; current && !d.current.IsZero() {
		needed = d.current
	}
	return !read.Before(needed)
}

// patience is how long an answer to a post is waited for. After that the message is verified instead, once: Slack may need longer.
func (t *trial) patience() time.Duration {
	if t.unanswered {
		return slackconn.Timeout
	}
	return slackconn.Timeout / 2
}

// trials are the trials of an account's deliveries, by delivery.
type trials struct {
	since    time.Time // when this replica began to post: no other does since; zero: others may at any time
	readings *readings

	mu  sync.Mutex
	all map[string]*trial
}

func newTrials(since time.Time, r *readings) *trials {
	return &trials{since: since, readings: r, all: map[string]*trial{}}
}

// of is the trial of a delivery that is about to be posted. If it was tried before, and not here, another replica did.
func (t *trials) of(delivery string, begun record.Attempt) *trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, known := t.all[delivery]
	if known {
		return one
	}
	one = &trial{first: begun.First, doubts: map[record.Place]doubt{}}
	if begun.Again {
		since := t.since
		if since.IsZero() {
			since = time.Now()
		}
		one.settled = since.Add(slackconn.Timeout)
	}
	t.all[delivery] = one
	return one
}

// drop deletes the trials of deliveries that are done with; of none: all.
func (t *trials) drop(deliveries ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(deliveries) == 0 {
		deliveries = slices.Collect(maps.Keys(t.all))
	}
	for _, delivery := range deliveries {
		if one, known := t.all[delivery]; known {
			for at := range one.doubts {
				t.readings.settled(at, delivery)
			}
			delete(t.all, delivery)
		}
	}
}
