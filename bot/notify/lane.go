package notify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// lane is what waits for its turn in a channel.
type lane struct {
	waits   []*queued // the most urgent first
	running int       // how many are being notified, or whether the right to post is asked for
	slot    bool      // there is that right: whatever is posted next uses it up
	asks    time.Time // when it is asked for again
	urgent  bool      // it was asked for something urgent
	failed  int       // how often in a row it failed
	since   time.Time // when it last did: what was begun before says nothing more
	paused  time.Time // until when nothing more is begun
}

const (
	atOnce     = 8           // in a channel without a pace
	mostPause  = time.Minute // of a lane
	doubtsFree = 3           // in a row, before the lane pauses: others may go through
)

// insert puts an event behind those that are as urgent.
func (l *lane) insert(w *queued) {
	i, _ := slices.BinarySearchFunc(l.waits, w, func(other, w *queued) int { return cmp.Or(order(other, w), -1) })
	l.waits = slices.Insert(l.waits, i, w)
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

// succeed ends a lane's pause: Slack is there, and each that failed often is tried once more in its turn.
func (l *lane) succeed() {
	l.failed, l.paused = 0, time.Time{}
	if n := len(l.waits); n > 0 && l.waits[n-1].stuck() {
		for _, w := range l.waits {
			w.failed = min(w.failed, stuckAfter-1)
		}
		slices.SortStableFunc(l.waits, order)
	}
}

// queued is an event that waits for its turn, or has it.
type queued struct {
	record.Event
	since    time.Time // when this replica came to know of it
	failed   int       // how often it could not be notified
	said     bool      // another message says it
	subjects []string  // what it is about: of events that share one, one at a time is notified
	parked   bool      // its message is in doubt, or waits for a card: what is about the same waits for it
	due      time.Time // until when it is put aside then
	rank     int       // its own, or that of the most urgent event that waits for it
}

// stuckAfter is how often an event fails before others go first: Slack may be away, which says nothing about this one,
// or refuse it for ever.
const stuckAfter = 3

func (w *queued) stuck() bool { return w.failed >= stuckAfter }

// stormPatience is how long the first card of a storm waits behind incidents. Each of those takes a second, and the
// card must be there within five. A little less than two seconds: it takes the place that comes free then.
const stormPatience = 1900 * time.Millisecond

func (w *queued) stormCard() bool { return w.Kind == record.NewAttack && record.IsStorm(w.Subject) }

// ownRank is its rank by now where nothing waits for it.
func (w *queued) ownRank() int {
	if w.stormCard() && time.Since(w.since) >= stormPatience {
		return 0
	}
	return w.Rank()
}

// laneOf is where an event waits for its turn.
func laneOf(e record.Event) string {
	if e.Kind == record.Grew || e.Kind == record.WentQuiet {
		return ""
	}
	return e.Channel
}

// subject is what an event is about, as far as it says: of a change or a request it is known later which attack it is
// about.
func subject(e record.Event) string {
	switch p := e.Detail.(type) {
	case record.ChangeFacts:
		return "change " + p.Change
	case record.ApprovalChanged:
		return "request " + p.Request
	case record.PermissionChanged:
		return "permission"
	case record.DrillFacts:
		if !p.Report { // which waits for all cards
			return fmt.Sprintf("drill %s %d", p.Drill, p.Card)
		}
	case record.UnreachableFacts, record.GapFacts:
		return "monitoring"
	}
	if e.Subject != "" {
		return record.AttackID(e.Account, e.Subject)
	}
	return e.ID
}

// urgentRank is the rank of what takes the room that others leave, and of what is more urgent.
const urgentRank = 2

func urgent(e record.Event) bool { return e.Rank() <= urgentRank }

// order orders events of one lane.
func order(a, b *queued) int {
	turn := func(w *queued) int { return min(w.failed, stuckAfter) / stuckAfter } // those that failed often are last
	return cmp.Or(turn(a)-turn(b), a.rank-b.rank, a.At.Compare(b.At), a.Order-b.Order)
}
