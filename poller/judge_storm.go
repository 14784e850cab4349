package poller

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// judgeStorms adds to the update what is to be remembered and told of storms: those that begin, those of which an attack changed, those that
// end, and those whose figures waited for their minute.
func (p *Poller) judgeStorms(u *Update, r reading, said said) {
	touched := p.touched(u, r)
	for id, begun := range u.gusts.begun {
		p.judgeStorm(u, r, said, begun.Named(id))
	}
	for id, g := range p.storms {
		s := p.shown[id]
		ends := s.Storm.Ended.IsZero() && !s.Rebuilt && !blowing(s, r.at)
		if touched[id] || ends || g.waits && !r.at.Before(g.until) {
			p.judgeStorm(u, r, said, s)
		}
	}
}

// touched are the storms of which an attack was read otherwise than before, or beside which an incident came.
func (p *Poller) touched(u *Update, r reading) map[string]bool {
	touched := map[string]bool{}
	for _, id := range r.changed {
		touched[p.shown[id].StormID] = true
	}
	for id, s := range u.Attacks {
		touched[s.StormID], touched[p.shown[id].StormID] = true, true
	}
	if u.gusts.incidents > 0 {
		for id := range p.storms {
			touched[id] = touched[id] || blowing(p.shown[id], r.at)
		}
	}
	return touched
}

// judgeStorm judges a storm as it was last told, or as it begins.
func (p *Poller) judgeStorm(u *Update, r reading, said said, last record.AttackState) {
	id := last.Attack.ID
	u.gusts.waits[id] = time.Time{}
	t := p.tally(u, r, last)
	if t.storm.Ongoing > 0 {
		u.gusts.waits[id] = r.at.Add(redrawAfter) // that one only knocks by now shows in no record
	}
	if t.storm.Grouped == 0 {
		p.letGo(u, r, last)
		return
	}
	p.goOn(u, r, last, &t.storm)
	reason, news := t.news(last, r.at)
	if last.Notified && said.muted(t.attack) {
		u.gusts.waits[id] = r.at // until the mute ends
		if last.Storm.Changed(&t.storm) {
			last.Storm = &t.storm // its end doesn't wait
			u.Attacks[id] = last
		}
		return
	}
	if due := last.ObservedAt.Add(redrawAfter); !news && r.at.Before(due) {
		u.gusts.waits[id] = due
	}
	if news {
		// What was going on before the bot came is no reason to call anybody.
		p.tell(u, r, finding{last: last, now: t.after(last, r, reason), reason: reason, route: p.stormRoute(last.Channel, t), calm: p.lastGood.IsZero()})
	}
}

// goOn brings a storm's times, and the incidents beside it, up to a poll.
func (p *Poller) goOn(u *Update, r reading, last record.AttackState, s *record.Storm) {
	if last.Rebuilt {
		s.Over, s.In, s.EndsAfter = p.cfg.Storm.Over, p.cfg.Storm.In, p.cfg.Storm.EndsAfter
	}
	if !last.Notified || blowing(last, r.at) {
		s.Incidents += u.gusts.incidents
	}
	if u.gusts.over[last.Attack.ID] {
		s.Exceeded = r.at
	}
	end := s.Exceeded.Add(s.EndsAfter)
	switch {
	case !s.Ended.IsZero() || r.at.Before(end) || last.Rebuilt && !r.ended:
	case s.Exceeded.IsZero():
		s.Ended = r.at // only its card was left of it, and not enough goes on for a storm
	default:
		s.Ended = end
	}
}

// letGo ends a storm of which only the card is left, and of whose attacks none goes on. Its card stays as it is.
func (p *Poller) letGo(u *Update, r reading, last record.AttackState) {
	if !last.Rebuilt || !last.Storm.Ended.IsZero() {
		return
	}
	if !r.ended {
		u.gusts.waits[last.Attack.ID] = r.at
		return
	}
	over := *last.Storm
	over.Ended, last.Storm = r.at, &over
	u.Attacks[last.Attack.ID] = last
}

// news names the reason why a storm is news, if it is. Unlike an attack's, its card doesn't wait for its minute when it tells of other attacks
// than there are.
func (t tally) news(last record.AttackState, at time.Time) (record.EventKind, bool) {
	aged := at.Sub(last.ObservedAt) >= redrawAfter
	switch {
	case !last.Notified:
		return record.NewAttack, true
	case baselineExceeded(last.Baseline, t.alone) && at.After(last.ObservedAt): // what the other pages of the same poll add was told at once
		return record.Worsened, true
	case last.Quiet && t.on > 0:
		return record.Resumed, true
	case !last.Quiet && t.on == 0:
		return record.WentQuiet, true
	case last.Rebuilt || last.Storm.Changed(&t.storm) || doubled(last.Attack.Hits, t.attack.Hits),
		aged && (differs(last.Attack, t.attack) || last.Storm.Ongoing != t.storm.Ongoing || last.Storm.StillTrying != t.storm.StillTrying):
		return record.Grew, true
	}
	return "", false
}

// after is what to remember of a storm that is told for a reason.
func (t tally) after(last record.AttackState, r reading, reason record.EventKind) record.AttackState {
	s := last
	s.Attack, s.Storm, s.ObservedAt, s.Rebuilt, s.Notified, s.Quiet = t.attack, &t.storm, r.at, last.Rebuilt && !r.ended, true, t.on == 0
	s.Revision++
	if r.at.Equal(last.ObservedAt) {
		reason = record.NewAttack
	}
	s.Baseline = baselineRaised(last.Baseline, t.alone, reason)
	was, _ := letThrough(last.Baseline.Status)
	if is, known := letThrough(s.Baseline.Status); known && is < was {
		s.Baseline.Status = last.Baseline.Status // worse is what gets through for the first time
	}
	return s
}

// stormRoute is the route of a storm: it calls whom the first does that takes one of its attacks and calls somebody, as often as that one, and has
// the pager that is called soonest.
func (p *Poller) stormRoute(channel string, t tally) Route {
	storm := Route{Channel: channel}
	for i, route := range p.cfg.Routes {
		if !t.routes[i] {
			continue
		}
		if storm.Mention == "" {
			storm.Mention, storm.MentionEvery = route.Mention, route.MentionEvery
		}
		if route.PageAfter > 0 && (storm.PageAfter == 0 || route.PageAfter < storm.PageAfter) {
			storm.PageAfter, storm.Match = route.PageAfter, route.Match
		}
	}
	return storm
}

// forgettableStorms are those that are over and left the lookback so long ago that no attack of theirs can be read again.
func (p *Poller) forgettableStorms(at, edge time.Time, u Update) (ids []string) {
	for id := range p.storms {
		s := p.shown[id]
		if now, decided := u.Attacks[id]; decided {
			s = now
		}
		last := s.Attack.Last
		if last.IsZero() {
			last = s.ObservedAt
		}
		if !blowing(s, at) && last.Before(edge) && at.Sub(s.ObservedAt) >= keptAfterNews {
			ids = append(ids, id)
		}
	}
	return ids
}
