package change

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// How long wafbot waits after a change that could not be ended; how long before its end it looks at one, unless that is short; and how often it
// looks until then, as a part of that time.
const (
	RetryEvery = time.Minute
	leadTime   = 15 * time.Minute
	checks     = 15
)

// Look is what came of looking at a change whose end is near or past.
type DueDecision struct {
	Change record.Change
	Next   time.Time // when to look again; zero: no more
	Asks   bool      // people are asked whether it is to hold longer, or told that it has ended where nobody could ask in time
	Late   bool      // people are told that its end is overdue
	Ended  bool      // it ended by itself, which its attack's card is to show
}

// lead is how long before its end wafbot looks at a change: a quarter of its time, where that is less than an hour.
func leadOf(c record.Change) time.Duration { return min(leadTime, c.Until.Sub(c.At)/4) }

// LookAt is when wafbot has to look at the change by itself, to prolong it, to ask about it, to end it, or to show that it has ended; zero for never.
// Which of these it is follows from what is known by then.
func CheckAt(c record.Change) time.Time {
	switch {
	case c.Parent() != "" || c.Until.IsZero():
		return time.Time{}
	case c.State == record.StateDone || c.State == record.StateHalf:
		return c.Until.Add(-leadOf(c))
	}
	return c.DueAt()
}

// again is when to look at a change again that has not ended.
func CheckAgainAt(c record.Change, now time.Time) time.Time {
	next := now.Add(max(leadOf(c)/checks, time.Second))
	if next.After(c.Until) {
		return c.Until
	}
	return next
}

// ask has people asked about the change, once for each end.
func (l *DueDecision) Ask(wanted bool) {
	if l.Asks = wanted && !l.Change.Asked.Equal(l.Change.Until); l.Asks {
		l.Change.Asked = l.Change.Until
	}
}
