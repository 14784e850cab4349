package poller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What one poll reads of the listing of attacks, and how many of them are known between polls. Incidents don't count: their own listing is read to its
// end, or the poll fails.
const (
	maxAttacks  = 50_000
	maxBytes    = 100 << 20       // 2 kB for each of so many attacks: attackers write into them
	maxPollTime = 5 * time.Minute // of a service that answers slowly. What is known stays known then
)

// limit is one of the limits of a poll.
type limit string

const (
	tooMany limit = "attacks"
	tooLong limit = "bytes"
	tooSlow limit = "time"
)

// limit is the one that a snapshot has reached, "" if none.
func (s *snapshot) limit() limit {
	switch {
	case s.attacks >= maxAttacks:
		return tooMany
	case s.bytes >= maxBytes:
		return tooLong
	case time.Since(s.begin) >= maxPollTime:
		return tooSlow
	}
	return ""
}

// inWords says for people what an account has that is more than wafbot watches.
func (l limit) inWords(lookback time.Duration) string {
	switch in := text.Duration(lookback); l {
	case tooLong:
		return fmt.Sprintf("over %d MB of attacks in %s", maxBytes>>20, in)
	case tooSlow:
		return fmt.Sprintf("more attacks in %s than the service lists in %s", in, text.Duration(maxPollTime))
	default:
		return fmt.Sprintf("over %s attacks in %s", text.Number(maxAttacks), in)
	}
}

// come is the time of a hit, or the snapshot's if the hit is yet to come, as a service may say.
func (s *snapshot) come(hit time.Time) time.Time {
	if hit.After(s.at) {
		return s.at
	}
	return hit
}

// surplus are the attacks that are more than may be known, those with the oldest last hits, and edge is the latest of these hits. Of attacks with
// hits at the same time those stay that were read last.
func surplus(st *state, snap snapshot) (ids []string, edge time.Time) {
	room, known := maxAttacks, st.plain
	if snap.capped == tooLong {
		room = snap.attacks
	}
	for id, a := range snap.records {
		if st.records[id] == nil && !a.Incident() {
			known++
		}
	}
	if known <= room {
		return nil, time.Time{}
	}
	type place struct{ last, read time.Time }
	places := map[string]place{}
	put := func(id string, a *apiclient.Attack, read time.Time) {
		if delete(places, id); !a.Incident() {
			places[id] = place{last: snap.come(a.Last), read: read}
		}
	}
	for id, seen := range st.records {
		put(id, seen.attack, seen.at)
	}
	for id, a := range snap.records {
		put(id, a, snap.at)
	}
	ids = slices.SortedFunc(maps.Keys(places), func(x, y string) int {
		return cmp.Or(places[y].last.Compare(places[x].last), places[y].read.Compare(places[x].read), cmp.Compare(x, y))
	})
	if ids = ids[min(room, len(ids)):]; len(ids) > 0 {
		edge = places[ids[0]].last
	}
	return ids, edge
}

// capAfter is the account's cap after a snapshot of which the attacks up to an edge were dropped; nil: it stays as it is. It begins when a poll
// reaches a limit: what is dropped without that isn't listed any more, or the next sweep says so. It ends when all was read, and there is so much room
// that people aren't notified of the next one at once. changed are the events of its begin and end.
func (p *Poller) capAfter(snap snapshot, edge time.Time) (next *record.Cap, changed []record.Event) {
	if reached := snap.come(snap.reached); snap.capped != "" && snap.whole && reached.After(edge) {
		edge = reached
	}
	c, begins, ends := p.st.cap, false, false
	switch {
	case snap.capped != "" && !c.GoesOn():
		c, begins = record.Cap{From: snap.at, Over: snap.capped.inWords(p.cfg.Lookback), Edge: c.Edge}, true
	case snap.capped == "" && c.GoesOn() && snap.whole && snap.attacks <= maxAttacks*9/10 && snap.bytes <= maxBytes*9/10:
		c.Until, ends = snap.at, true
	}
	if edge.After(c.Edge) {
		c.Edge = edge
	}
	if c == p.st.cap {
		return nil, nil
	}
	if begins || ends {
		changed = append(changed, p.cfg.accountEvent(record.CapChanged, snap.at.UnixMilli(), snap.at, c))
	}
	return &c, changed
}
