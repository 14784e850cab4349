package storm

import (
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
)

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
		aged && (compare.Differs(last.Attack, t.Attack) || last.Storm.Ongoing != t.Storm.Ongoing || last.Storm.StillTrying != t.Storm.StillTrying):
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
