// Package storm groups attacks that come too fast for a card each: when a storm begins, what its attacks are together,
// when that is an event, and when it ends. Pure functions of stored states and what a poll found.
package storm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

// Config says when attacks come too fast for a card each. The zero value: they never do.
type Config struct {
	config.Storm               // a storm begins when more new attacks than Over come to a channel within In
	EndsAfter    time.Duration // it ends when that did not happen for so long
}

// ID names a storm by where and when it began: each replica that decides the same names it the same.
func ID(channel string, began time.Time) string {
	return fmt.Sprintf("%s%s:%d", apiclient.OwnID, channel, began.Unix())
}

// Began is when the storm with that id began; false if the id is no storm's.
func Began(id string) (began time.Time, ok bool) {
	rest, ok := strings.CutPrefix(id, apiclient.OwnID)
	unix, err := strconv.ParseInt(rest[strings.LastIndex(rest, ":")+1:], 10, 64)
	return time.Unix(unix, 0).UTC(), ok && err == nil
}

// Active reports whether a storm groups the attacks that come now. One that was rebuilt from its card groups all that
// has no card and is found by the first poll that reads everything: most of it was in the storm before.
func Active(s record.AttackState, at time.Time) bool {
	switch {
	case s.Storm == nil || !s.Storm.Ended.IsZero():
		return false
	case s.Rebuilt:
		return true
	}
	return at.Before(s.Storm.Exceeded.Add(s.Storm.EndsAfter))
}

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

// Advance brings the storm's times, and the incidents beside it, up to a poll.
func (t *Tally) Advance(b *Batch) {
	s, last, id := &t.Storm, t.last, t.last.Attack.ID
	if last.Rebuilt {
		s.Over, s.In, s.EndsAfter = b.Config.Over, b.In, b.EndsAfter
	}
	if !last.Notified || Active(last, t.at) {
		s.Incidents += b.Incidents
	}
	if b.Over[id] {
		s.Exceeded = t.at
	}
	switch {
	case b.Joined[id] > 0:
		s.Steady = 0
	case b.Complete && s.Steady < record.SteadyPolls && t.at.After(last.ObservedAt): // else this poll has told of the storm on an earlier page
		s.Steady++
	}
	end := s.Exceeded.Add(s.EndsAfter)
	switch {
	case !s.Ended.IsZero() || t.at.Before(end) || last.Rebuilt && !b.Whole:
	case s.Exceeded.IsZero():
		s.Ended = t.at // it was rebuilt from its card, and too little goes on for a storm
	default:
		s.Ended = end
	}
}

// Event names the kind of event that a storm is, if it is one. Unlike an attack's, its card doesn't wait for its minute
// when the number of attacks on it is wrong.
func (t Tally) Event() (record.EventKind, bool) {
	last := t.last
	aged := t.at.Sub(last.ObservedAt) >= compare.RedrawAfter
	switch {
	case !last.Notified:
		return record.NewAttack, true
	case compare.Worsened(last.Baseline, t.cardless) && t.at.After(last.ObservedAt): // the other pages of the same poll don't make it worse
		return record.Worsened, true
	case last.Quiet && t.ongoing > 0:
		return record.Resumed, true
	case !last.Quiet && t.ongoing == 0:
		return record.WentQuiet, true
	case last.Rebuilt || last.Storm.Changed(&t.Storm) || compare.Doubled(last.Attack.Hits, t.Attack.Hits),
		aged && (compare.Differs(last.Attack, t.Attack) || last.Storm.Ongoing != t.Storm.Ongoing ||
			last.Storm.StillTrying != t.Storm.StillTrying):
		return record.Grew, true
	}
	return "", false
}

// Kept is what is kept of the storm. A pointer into the tally would keep all that was counted, too.
func (t Tally) Kept() *record.Storm { return new(t.Storm) }

// After is the storm's state after an event; whole reports whether the poll read everything.
func (t Tally) After(whole bool, kind record.EventKind) record.AttackState {
	s := t.last
	s.Attack, s.Storm, s.ObservedAt, s.Rebuilt, s.Notified, s.Quiet = t.Attack, t.Kept(), t.at, s.Rebuilt && !whole, true,
		t.ongoing == 0
	s.Revision++
	if t.at.Equal(t.last.ObservedAt) {
		kind = record.NewAttack
	}
	s.Baseline = compare.Raised(s.Baseline, t.cardless, kind)
	before, _ := t.last.Baseline.Status.PassRank()
	if now, known := s.Baseline.Status.PassRank(); known && now < before {
		s.Baseline.Status = t.last.Baseline.Status // worse is what gets through for the first time
	}
	return s
}
