package storm

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Batch is what one poll found of storms.
type Batch struct {
	Arrivals  Arrivals                      // of the last while, those of this poll included
	Begun     map[string]record.AttackState // storms that begin, by id
	Joined    map[string][]string           // ids of attacks that are grouped now, by storm
	Over      map[string]bool               // storms to which more attacks came than the limit
	Incidents int                           // that came
	CheckAt   map[string]time.Time          // when to look at a storm again; zero: not before something changes
}

// NewBatch is a Batch that holds nothing.
func NewBatch() Batch {
	return Batch{Begun: map[string]record.AttackState{}, Joined: map[string][]string{}, Over: map[string]bool{}, CheckAt: map[string]time.Time{}}
}

// Arrivals are the new attacks of the last while, by channel, and the new incidents of the last poll.
type Arrivals struct {
	attacks   map[string][]arrival
	incidents arrival // of the last poll alone: a storm counts incidents from its first poll on
}

// arrival is how many came in one poll.
type arrival struct {
	at time.Time // on the service's clock
	n  int
}

// Add is the arrivals after a poll, without what came longer ago than the limit counts. A poll may be added in parts.
func (a Arrivals) Add(at time.Time, incidents int, attacks map[string]int, cfg Config) Arrivals {
	next := Arrivals{attacks: map[string][]arrival{}, incidents: arrival{at, incidents}}
	if a.incidents.at.Equal(at) { // the poll's first page was added before
		next.incidents.n += a.incidents.n
	}
	for channel, came := range a.attacks {
		next.attacks[channel] = add(came, at, attacks[channel], cfg.In)
	}
	for channel, n := range attacks {
		if _, known := a.attacks[channel]; !known && cfg.Over > 0 {
			next.attacks[channel] = add(nil, at, n, cfg.In)
		}
	}
	return next
}

// Attacks is how many came to a channel.
func (a Arrivals) Attacks(channel string) (n int) {
	for _, one := range a.attacks[channel] {
		n += one.n
	}
	return n
}

// Incidents is how many came in the last poll.
func (a Arrivals) Incidents() int { return a.incidents.n }

func add(came []arrival, at time.Time, n int, within time.Duration) []arrival {
	lately := slices.DeleteFunc(slices.Clone(came), func(a arrival) bool { return at.Sub(a.at) >= within })
	if n == 0 {
		return lately
	}
	return append(lately, arrival{at, n})
}

// Poll is what grouping needs to know of a poll.
type Poll struct {
	Config     Config
	At         time.Time                     // on the service's clock
	CatchingUp bool                          // it is the first, or ends a monitoring gap
	Storms     map[string]record.AttackState // all that are stored, by id
}

// Group groups the attacks that came new to a channel, if a storm goes on there or begins with them. It returns the storm's id; "" if each attack
// gets a card of its own. Arrivals and Incidents must be set.
func (b *Batch) Group(p Poll, channel string, events []record.Event) string {
	came := b.Arrivals.Attacks(channel)
	over := came > p.Config.Over
	id, active := In(p.Storms, channel, p.At)
	switch {
	case !active && !over:
		return ""
	case !active:
		id = ID(channel, p.At)
		b.Begun[id] = record.AttackState{Channel: channel, Storm: &record.Storm{
			Over: p.Config.Over, In: p.Config.In, EndsAfter: p.Config.EndsAfter, Began: p.At, Exceeded: p.At,
			CaughtUp: p.CatchingUp, Before: came - len(events), Incidents: b.Arrivals.Incidents() - b.Incidents,
		}}
	}
	b.Over[id] = over
	for _, e := range events {
		b.Joined[id] = append(b.Joined[id], e.Attack().ID)
	}
	return id
}

// Join is the state of an attack that would get its first card, when it is grouped instead: no people are mentioned or paged about it, and no card
// shows its history.
func Join(s record.AttackState, id string) record.AttackState {
	s.StormID, s.OwnCard, s.Revision, s.History = id, false, s.Revision-1, nil
	s.Pager, s.Mention, s.SuppressedMention, s.Suppressed, s.MentionedAt = nil, "", "", false, time.Time{}
	return s
}
