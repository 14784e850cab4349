package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// queued is an event that waits for its turn, or has it.
type queued struct {
	record.Event
	since    time.Time // when this replica came to know of it
	failed   int       // how often it could not be notified
	subjects []string  // what it is about: of events that share one, one at a time is notified
	parked   bool      // its message is in doubt, or waits for a card: what is about the same waits for it
	due      time.Time // until when it is put aside then; zero: its turn may come
	rank     int       // its own, or that of the most urgent event that waits for it
	index    int       // in the heap of its lane, or of what is put aside; -1: in neither
}

// within is a context in which what is logged names the request that the event came of.
func (w *queued) within() context.Context { return record.WithRequest(context.Background(), w.Request) }

// stuckAfter is how often an event fails before others go first: Slack may be away, which says nothing about this one, or refuse it for ever.
const stuckAfter = 3

func (w *queued) stuck() bool { return w.failed >= stuckAfter }

// stormPatience is how long the first card of a storm waits behind incidents, of which each takes a second: it has to be there, and right, within five.
const stormPatience = 2 * time.Second

func (w *queued) stormCard() bool { return w.Kind == record.NewAttack && w.Storm() != nil }

// ownRank is its rank by now where nothing waits for it.
func (w *queued) ownRank() int {
	if w.stormCard() && time.Since(w.since) >= stormPatience {
		return 0
	}
	return w.Rank()
}

// laneOf is where an event waits for its turn.
func laneOf(e record.Event) string {
	switch e.Kind {
	case record.Grew, record.WentQuiet:
		return ""
	}
	return e.Channel
}

// subject is what an event is about, as far as it says: of a change or a request it is known later which attack it is about.
func subject(e record.Event) string {
	switch p := e.Payload.(type) {
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
	if attack := e.Attack().ID; attack != "" {
		return record.AttackID(e.Account, attack)
	}
	return e.ID
}

// urgentRank is the rank of what takes the room that others leave, and of what is more urgent.
const urgentRank = 2

func urgent(e record.Event) bool { return e.Rank() <= urgentRank }

// before orders events of one lane.
func before(a, b *queued) bool {
	if a.stuck() != b.stuck() {
		return b.stuck()
	}
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return a.At.Before(b.At) || a.At.Equal(b.At) && a.Revision() < b.Revision()
}

// byRank is a heap of events, the most urgent first.
type byRank []*queued

// Len implements heap.Interface.
func (h byRank) Len() int { return len(h) }

// Less implements heap.Interface.
func (h byRank) Less(i, j int) bool { return before(h[i], h[j]) }

// Swap implements heap.Interface.
func (h byRank) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *byRank) Push(x any) {
	w := x.(*queued)
	w.index = len(*h)
	*h = append(*h, w)
}

// Pop implements heap.Interface.
func (h *byRank) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	w.index = -1
	*h = slices.Delete(*h, last, last+1)
	return w
}

// byDue is a heap of events that are put aside, those that are due first.
type byDue struct{ byRank }

// Less implements heap.Interface.
func (h byDue) Less(i, j int) bool { return h.byRank[i].due.Before(h.byRank[j].due) }
