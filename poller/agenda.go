package poller

import (
	"iter"
	"time"
)

// agenda holds from when on attacks must be compared although they were not read, grouped by minute: so a poll need not go through all that are
// known.
type agenda struct {
	times   map[string]time.Time
	minutes map[int64]map[string]bool
}

func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// put enters an attack, or moves it.
func (a *agenda) put(id string, at time.Time) {
	a.drop(id)
	minute := minuteOf(at)
	if a.minutes[minute] == nil {
		a.minutes[minute] = map[string]bool{}
	}
	a.times[id], a.minutes[minute][id] = at, true
}

// drop takes an attack off, if it is on.
func (a *agenda) drop(id string) {
	minute := minuteOf(a.times[id])
	delete(a.times, id)
	if delete(a.minutes[minute], id); len(a.minutes[minute]) == 0 {
		delete(a.minutes, minute)
	}
}

// until gives the attacks that are due at a time, in no order.
func (a *agenda) until(at time.Time) iter.Seq[string] {
	return func(yield func(string) bool) {
		for minute, ids := range a.minutes {
			if minute > minuteOf(at) {
				continue
			}
			for id := range ids {
				if !a.times[id].After(at) && !yield(id) {
					return
				}
			}
		}
	}
}
