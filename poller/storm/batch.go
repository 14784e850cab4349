package storm

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// Batch is what one poll, or a part of it, finds of storms.
type Batch struct {
	Config

	At         time.Time // on the service's clock
	CatchingUp bool      // the poll is the first, or ends a monitoring gap
	Whole      bool      // it read everything
	Complete   bool      // it read all that it wanted, without reaching a limit

	Storms    map[string]record.AttackState // by id: all that are stored, and those that begin
	Arrivals  Arrivals                      // of the last while, those of this poll included
	Incidents int                           // that came
	Joined    map[string]int                // how many attacks are grouped now, by storm
	Over      map[string]bool               // storms to which more attacks came than the limit
}

// Arrivals are the new attacks of the last while, by poll and channel. Incidents of the last poll are under no channel:
// a storm counts incidents from its first poll on.
type Arrivals []arrival

type arrival struct {
	at      time.Time // on the service's clock
	channel string
	n       int
}

// Add is the arrivals after a poll, without what came longer ago than the limit counts. A poll may be added in parts.
func (a Arrivals) Add(at time.Time, came map[string]int, within time.Duration) Arrivals {
	next := slices.DeleteFunc(slices.Clone(a), func(one arrival) bool {
		return one.at.Before(at) && (one.channel == "" || at.Sub(one.at) >= within)
	})
	for channel, n := range came {
		next = append(next, arrival{at, channel, n})
	}
	return next
}

// To is how many came to a channel.
func (a Arrivals) To(channel string) (n int) {
	for _, one := range a {
		if one.channel == channel {
			n += one.n
		}
	}
	return n
}

// Group groups the attacks that came new to a channel, if a storm goes on there or begins with them. It returns the
// storm's id; "" if each attack gets a card of its own. All but Joined and Over must be set.
func (b *Batch) Group(channel string, n int) (id string) {
	came := b.Arrivals.To(channel)
	over := came > b.Config.Over
	for one, s := range b.Storms { // the newest, if there are several
		if s.Channel == channel && Active(s, b.At) && (id == "" || s.Storm.Began.After(b.Storms[id].Storm.Began)) {
			id = one
		}
	}
	switch {
	case id == "" && !over:
		return ""
	case id == "":
		id = ID(channel, b.At)
		begun := record.AttackState{Channel: channel, Storm: &record.Storm{
			Over: b.Config.Over, In: b.In, EndsAfter: b.EndsAfter, Began: b.At, Exceeded: b.At,
			CaughtUp: b.CatchingUp, Before: came - n, Incidents: b.Arrivals.To("") - b.Incidents,
		}}
		begun.Attack.ID = id
		b.Storms[id] = begun
	}
	b.Over[id] = over
	b.Joined[id] += n
	return id
}

// Join is the state of an attack that would get its first card, when it is grouped instead: no people are mentioned or
// paged about it, and no card shows its history.
func Join(s record.AttackState, id string) record.AttackState {
	s.StormID, s.OwnCard, s.Revision, s.History = id, false, s.Revision-1, nil
	s.Pager, s.Mention, s.SuppressedMention, s.Suppressed, s.MentionedAt = nil, "", "", false, time.Time{}
	return s
}
