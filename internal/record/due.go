package record

import "time"

// DueDecision is the outcome of checking a change whose end is near or past.
type DueDecision struct {
	Change Change
	Next   time.Time // when to check again; zero: no more
	Asks   bool      // people are asked whether it is to hold longer, or told that it has ended where they weren't asked in time
	Late   bool      // people are notified that its end is overdue
	Ended  bool      // it ended by itself, which its attack's card is to show
	Listed bool      // people are told that the service still lists what it was to delete, or not what it was to make
	Seen   bool      // it was verified that a mode's rule is the only one, which the change notes
}

// Ask has people asked about the change, once for each end.
func (l *DueDecision) Ask(wanted bool) {
	if l.Asks = wanted && !l.Change.Asked.Equal(l.Change.Until); l.Asks {
		l.Change.Asked = l.Change.Until
	}
}
