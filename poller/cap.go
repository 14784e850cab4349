package poller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

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
func (d *decision) surplus() (ids []string, edge time.Time) {
	room := d.cfg.Limits.Attacks
	if d.capped == tooLong {
		room = d.attacks
	}
	if len(d.st.records)+len(d.records) <= room {
		return nil, edge
	}
	known := d.known()
	maps.DeleteFunc(known, func(_ string, seen seenRecord) bool { return seen.attack.Incident() })
	last := func(id string) time.Time { return d.come(known[id].attack.Last) }
	all := slices.SortedFunc(maps.Keys(known), func(x, y string) int {
		return cmp.Or(last(y).Compare(last(x)), known[y].at.Compare(known[x].at), cmp.Compare(x, y))
	})
	if ids = all[min(room, len(all)):]; len(ids) > 0 {
		edge = last(ids[0])
	}
	return ids, edge
}

// capAfter is the account's cap after a snapshot whose attacks up to an edge were dropped; nil: it stays as it is.
func (d *decision) capAfter(edge time.Time) *record.Cap {
	before := d.st.cap
	c := before
	c.TooLong = d.cfg.API.TooLong()
	if d.capped != "" || d.whole {
		c.Over = d.cfg.over(d.capped)
	}
	if d.capped != "" && d.whole {
		edge = record.Later(edge, d.come(d.reached))
	}
	if c.Edge = record.Later(c.Edge, edge); c == before {
		return nil
	}
	if c.Over != before.Over {
		d.cfg.Log.Warn("how many attacks are watched changed", "all", c.Over == "", "why", c.Says())
	}
	return &c
}
