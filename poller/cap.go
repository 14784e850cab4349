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

// Limits bound what one poll reads of the listing of attacks, and how many of them are known between polls. Incidents
// don't count: their own listing is read to its end, or the poll fails.
type Limits struct {
	Attacks int
	Bytes   int           // attackers write into records
	Time    time.Duration // of a service that answers slowly. What is known stays known then
}

func defaultLimits() Limits {
	return Limits{Attacks: 40_000, Bytes: 100 << 20, Time: 5 * time.Minute} // 2 kB for each attack
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

// over says for people what an account has that is more than wafbot watches; "" if it watches all.
func (c *Config) over(reached limit) string {
	switch in := text.Duration(c.Account.Lookback); reached {
	case tooLong:
		return fmt.Sprintf("over %d MB of attacks in %s", c.Limits.Bytes>>20, in)
	case tooSlow:
		return fmt.Sprintf("more attacks in %s than the service lists in %s", in, text.Duration(c.Limits.Time))
	case tooMany:
		return fmt.Sprintf("over %s attacks in %s", text.Number(c.Limits.Attacks), in)
	}
	return ""
}

// come is the time of a hit, or the snapshot's if the hit is yet to come, as a service may say.
func (s *snapshot) come(hit time.Time) time.Time {
	if hit.After(s.at) {
		return s.at
	}
	return hit
}

// surplus are the attacks for which there is no room, those hit longest ago, and the latest of these hits. Of attacks
// hit at the same time those stay that were read last.
func surplus(st *state, snap snapshot, room int) (ids []string, edge time.Time) {
	if snap.capped == tooLong {
		room = snap.attacks
	}
	if st.plain+len(snap.records) <= room {
		return nil, time.Time{}
	}
	known := map[string]*apiclient.Attack{}
	for id, seen := range st.records {
		known[id] = seen.attack
	}
	maps.Copy(known, snap.records)
	maps.DeleteFunc(known, func(_ string, a *apiclient.Attack) bool { return a.Incident() })
	last := func(id string) time.Time { return snap.come(known[id].Last) }
	read := func(id string) time.Time {
		if snap.records[id] != nil {
			return snap.at
		}
		return st.records[id].at
	}
	all := slices.SortedFunc(maps.Keys(known), func(x, y string) int {
		return cmp.Or(last(y).Compare(last(x)), read(y).Compare(read(x)), cmp.Compare(x, y))
	})
	if ids = all[min(room, len(all)):]; len(ids) > 0 {
		edge = last(ids[0])
	}
	return ids, edge
}

// capAfter is the account's cap after a snapshot whose attacks up to an edge were dropped; nil: it stays as it is.
func (p *Poller) capAfter(snap snapshot, edge time.Time) *record.Cap {
	c := p.st.cap
	c.TooLong = p.cfg.API.TooLong()
	if snap.capped != "" || snap.whole {
		c.Over = p.cfg.over(snap.capped)
	}
	if reached := snap.come(snap.reached); snap.capped != "" && snap.whole && reached.After(edge) {
		edge = reached
	}
	if edge.After(c.Edge) {
		c.Edge = edge
	}
	if c == p.st.cap {
		return nil
	}
	if c.Over != p.st.cap.Over {
		p.cfg.Log.Warn("how many attacks are watched changed", "all", c.Over == "", "why", c.Says())
	}
	return &c
}
