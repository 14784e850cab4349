package storm

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

// Progress is what a poll found that moves a storm's times and figures.
type Progress struct {
	Poll
	Incidents int  // that came in the poll
	Joined    int  // attacks that the storm groups since the poll, as far as it has read
	Over      bool // more attacks came than the limit
	Whole     bool // the poll read everything
	Complete  bool // the poll read all that it wanted, without reaching a limit
}

// Advance brings the storm's times, and the incidents beside it, up to a poll.
func (t *Tally) Advance(last record.AttackState, p Progress) {
	s := &t.Storm
	if last.Rebuilt {
		s.Over, s.In, s.EndsAfter = p.Config.Over, p.Config.In, p.Config.EndsAfter
	}
	if !last.Notified || Active(last, p.At) {
		s.Incidents += p.Incidents
	}
	if p.Over {
		s.Exceeded = p.At
	}
	switch {
	case p.Joined > 0:
		s.Steady = 0
	case p.Complete && s.Steady < record.SteadyPolls && p.At.After(last.ObservedAt): // else this poll has told of the storm on an earlier page
		s.Steady++
	}
	end := s.Exceeded.Add(s.EndsAfter)
	switch {
	case !s.Ended.IsZero() || p.At.Before(end) || last.Rebuilt && !p.Whole:
	case s.Exceeded.IsZero():
		s.Ended = p.At // it was rebuilt from its card, and too little goes on for a storm
	default:
		s.Ended = end
	}
}

// Closed is a storm that was rebuilt from its card and of whose attacks none goes on. Its card stays as it is.
func Closed(last record.AttackState, at time.Time) record.AttackState {
	over := *last.Storm
	over.Ended, last.Storm = at, &over
	return last
}

// Event names the kind of event that a storm is, if it is one. Unlike an attack's, its card doesn't wait for its minute when the number of attacks
// on it is wrong.
func (t Tally) Event(last record.AttackState, at time.Time) (record.EventKind, bool) {
	aged := at.Sub(last.ObservedAt) >= compare.RedrawAfter
	switch {
	case !last.Notified:
		return record.NewAttack, true
	case compare.Worsened(last.Baseline, t.cardless) && at.After(last.ObservedAt): // the other pages of the same poll don't make it worse
		return record.Worsened, true
	case last.Quiet && t.ongoing > 0:
		return record.Resumed, true
	case !last.Quiet && t.ongoing == 0:
		return record.WentQuiet, true
	case last.Rebuilt || last.Storm.Changed(&t.Storm) || compare.Doubled(last.Attack.Hits, t.Attack.Hits),
		aged && (compare.Differs(last.Attack, t.Attack) || last.Storm.Ongoing != t.Storm.Ongoing || last.Storm.StillTrying != t.Storm.StillTrying):
		return record.Grew, true
	}
	return "", false
}

// Kept is what is kept of the storm. A pointer into the tally would keep all that was counted, too.
func (t Tally) Kept() *record.Storm { return new(t.Storm) }

// After is the storm's state after an event; whole reports whether the poll read everything.
func (t Tally) After(last record.AttackState, at time.Time, whole bool, kind record.EventKind) record.AttackState {
	s := last
	s.Attack, s.Storm, s.ObservedAt, s.Rebuilt, s.Notified, s.Quiet = t.Attack, t.Kept(), at, last.Rebuilt && !whole, true, t.ongoing == 0
	s.Revision++
	if at.Equal(last.ObservedAt) {
		kind = record.NewAttack
	}
	s.Baseline = compare.Raised(last.Baseline, t.cardless, kind)
	before, _ := last.Baseline.Status.PassRank()
	if now, known := s.Baseline.Status.PassRank(); known && now < before {
		s.Baseline.Status = last.Baseline.Status // worse is what gets through for the first time
	}
	return s
}
