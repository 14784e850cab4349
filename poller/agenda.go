package poller

import (
	"container/heap"
	"iter"
	"time"
)

// agenda holds from when on attacks must be compared although they were not read, the earliest first: so a poll need
// not go through all that are known.
type agenda struct {
	items dated
	byID  map[string]*item
}

type item struct {
	id    string
	at    time.Time
	place int // in the heap
}

// put enters an attack, or moves it.
func (a *agenda) put(id string, at time.Time) {
	it, ok := a.byID[id]
	switch {
	case !ok:
		it = &item{id: id, at: at}
		if a.byID == nil {
			a.byID = map[string]*item{}
		}
		a.byID[id] = it
		heap.Push(&a.items, it)
	case !it.at.Equal(at):
		it.at = at
		heap.Fix(&a.items, it.place)
	}
}

// drop takes an attack off, if it is on.
func (a *agenda) drop(id string) {
	if it, ok := a.byID[id]; ok {
		delete(a.byID, id)
		heap.Remove(&a.items, it.place)
	}
}

// until gives the attacks that are due at a time, in no order, and touches no others.
func (a *agenda) until(at time.Time) iter.Seq[string] {
	return func(yield func(string) bool) { a.items.until(0, at, yield) }
}

// dated is a heap: an item is never earlier than the one that it hangs from.
type dated []*item

func (d dated) until(i int, at time.Time, yield func(string) bool) bool {
	if i >= len(d) || d[i].at.After(at) {
		return true
	}
	return yield(d[i].id) && d.until(2*i+1, at, yield) && d.until(2*i+2, at, yield)
}

// Len implements heap.Interface.
func (d dated) Len() int { return len(d) }

// Less implements heap.Interface.
func (d dated) Less(i, j int) bool { return d[i].at.Before(d[j].at) }

// Swap implements heap.Interface.
func (d dated) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push implements heap.Interface.
func (d *dated) Push(x any) {
	it := x.(*item)
	it.place = len(*d)
	*d = append(*d, it)
}

// Pop implements heap.Interface.
func (d *dated) Pop() any {
	last := len(*d) - 1
	it := (*d)[last]
	(*d)[last] = nil // or it would never be freed
	*d = (*d)[:last]
	return it
}
