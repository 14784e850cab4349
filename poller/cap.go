package poller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Limits bound what one poll reads of the listing of attacks, and how many of them are known between polls. Incidents don't count: their own listing is
// read to its end, or the poll fails.
type Limits struct {
	Attacks int
	Bytes   int           // attackers write into records
	Time    time.Duration // of a service that answers slowly. What is known stays known then
}

func defaultLimits() Limits {
	return Limits{Attacks: 50_000, Bytes: 100 << 20, Time: 5 * time.Minute} // 2 kB for each attack
}

// limit is one of the limits of a poll.
type limit string

const (
	tooMany limit = "attacks"
	tooLong limit = "bytes"
	tooSlow limit = "time"
)

// reached is the limit that a snapshot has reached, "" if none.
func (l Limits) reached(s *snapshot) limit {
	switch {
	case s.attacks >= l.Attacks:
		return tooMany
	case s.bytes >= l.Bytes:
		return tooLong
	case time.Since(s.begin) >= l.Time:
		return tooSlow
	}
	return ""
}

// over says for people what an account has that is more than wafbot watches.
func (c *Config) over(reached limit) string {
	switch in := text.Duration(c.Lookback); reached {
	case tooLong:
		return fmt.Sprintf("over %d MB of attacks in %s", c.Limits.Bytes>>20, in)
	case tooSlow:
		return fmt.Sprintf("more attacks in %s than the service lists in %s", in, text.Duration(c.Limits.Time))
	default:
		return fmt.Sprintf("over %s attacks in %s", text.Number(c.Limits.Attacks), in)
	}
}

// come is the time of a hit, or the snapshot's if the hit is yet to come, as a service may say.
func (s *snapshot) come(hit time.Time) time.Time {
	if hit.After(s.at) {
		return s.at
	}
	return hit
}

// surplus are the attacks for which there is no room, those with the oldest last hits, and edge is the latest of these hits. Of attacks with
// hits at the same time those stay that were read last.
func surplus(st *state, snap snapshot, room int) (ids []string, edge time.Time) {
	known := st.plain
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
	type place struct {
		id         string
		last, read time.Time
	}
	places := make([]place, 0, known)
	put := func(id string, a *apiclient.Attack, read time.Time) {
		if !a.Incident() {
			places = append(places, place{id: id, last: snap.come(a.Last), read: read})
		}
	}
	for id, seen := range st.records {
		if snap.records[id] == nil {
			put(id, seen.attack, seen.at)
		}
	}
	for id, a := range snap.records {
		put(id, a, snap.at)
	}
	slices.SortFunc(places, func(x, y place) int {
		return cmp.Or(y.last.Compare(x.last), y.read.Compare(x.read), cmp.Compare(x.id, y.id))
	})
	dropped := places[min(room, len(places)):]
	for _, one := range dropped {
		ids = append(ids, one.id)
	}
	if len(dropped) > 0 {
		edge = dropped[0].last
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
	c, limits, turns := p.st.cap, p.cfg.Limits, false
	switch {
	case snap.capped != "" && !c.GoesOn():
		c, turns = record.Cap{From: snap.at, Over: p.cfg.over(snap.capped), Edge: c.Edge}, true
	case snap.capped == "" && c.GoesOn() && snap.whole && snap.attacks <= limits.Attacks*9/10 && snap.bytes <= limits.Bytes*9/10:
		c.Until, turns = snap.at, true
	}
	if edge.After(c.Edge) {
		c.Edge = edge
	}
	if c == p.st.cap {
		return nil, nil
	}
	if turns {
		changed = append(changed, p.cfg.accountEvent(record.CapChanged, snap.at.UnixMilli(), snap.at, c))
	}
	return &c, changed
}
