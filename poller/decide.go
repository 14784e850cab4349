package poller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// refreshAfter is how old the state of an ongoing attack without a card gets: it must not be deleted while the attack
// goes on.
const refreshAfter = time.Hour

// decide names the events in a snapshot and all that has to be saved of it.
func (p *Poller) decide(ctx context.Context, snap snapshot) *decision {
	st := p.st
	d := &decision{
		PollUpdate: record.PollUpdate{LastGood: st.lastGood, Attacks: map[string]record.AttackState{}}, snapshot: snap,
		cfg: &p.cfg, st: st, muted: p.mutes(ctx), causes: p.causes,
		suppressed: map[string]bool{}, again: map[string]bool{}, checkAt: map[string]time.Time{},
	}
	d.stopped = d.stops()
	for id, a := range d.candidates() {
		o := d.observe(*a)
		if now, more := d.stopped[id]; more {
			o.Stopped = now
		}
		if st.attacks.of(id).Grouped() {
			d.judgeGrouped(o)
		} else {
			d.judge(o)
		}
	}
	d.group()
	d.judgeStorms()
	if st.lastGood.IsZero() && d.good {
		d.firstStart()
	}
	d.closeGap()
	slices.SortFunc(d.Events, func(a, b record.Event) int { // the most urgent first
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), d.Attacks[b.Subject].Attack.Last.Compare(d.Attacks[a.Subject].Attack.Last),
			cmp.Compare(a.Subject, b.Subject))
	})
	return d
}

// observe is an attack as it is by this snapshot.
func (d *decision) observe(a apiclient.Attack) compare.Observation {
	return d.st.observe(a, d.at, d.tries)
}

// candidates are the attacks that can be events: what was read, and once a poll what time alone can make an event, and
// what a mute suppressed and may be over. That is little beside all that is known.
func (d *decision) candidates() map[string]*apiclient.Attack {
	if d.early {
		return d.records
	}
	attacks := maps.Clone(d.records)
	for id, due := range d.st.agenda {
		if !due.After(d.at) {
			attacks[id] = d.latest(id)
		}
	}
	for id := range d.stopped {
		attacks[id] = d.latest(id)
	}
	for id := range d.st.suppressed {
		attacks[id] = d.latest(id)
	}
	return attacks
}

// judge adds one attack to the result, if there is anything to save about it.
func (d *decision) judge(o compare.Observation) {
	if o.Attack.Result() {
		return
	}
	id := o.Attack.ID
	route, routed := d.cfg.route(o.Attack)
	o.Routed = routed
	last, known := d.st.attacks.of(id), d.st.attacks[id] != nil
	o.Muted = func() bool { return d.isMuted(o.Attack) }
	kind, suppressed := compare.Event(last, known, o)
	if suppressed { // its state stays as it was, so that no event is lost
		d.suppressed[id] = true
	}
	pauses := kind == record.Grew && !last.Paused && o.Pauses(last)
	tooEarly := (kind == record.WentQuiet || pauses) && !d.covers(o.Attack.Last)
	if tooEarly {
		d.judgeAgain(id)
	}
	// At the account's first start everything that went on got a card.
	overBefore := !o.Attack.Last.IsZero() && d.st.firstStart.Sub(o.Attack.Last) >= d.cfg.Account.OngoingFor
	tooLate := !last.Notified && (d.st.lastGood.IsZero() && o.Silent() || !known && overBefore)
	if kind == "" || tooEarly || tooLate {
		aged := !last.Notified && o.Attack.Last.Sub(last.Attack.Last) >= refreshAfter
		if !known || aged || kind == "" && last.Rebuilt && !suppressed {
			d.Attacks[id] = compare.After(last, o, "")
		}
		return
	}
	d.emit(last, compare.After(last, o, kind), kind, route)
}

// firstStart adds the one event of an account's first poll, of all that was found, also by the parts that were settled
// before.
func (d *decision) firstStart() {
	var facts record.FirstStartFacts
	for s := range d.states() {
		if s.Notified && s.Storm == nil {
			facts.Ongoing++
		}
		if s.Grouped() {
			facts.Grouped++
		}
	}
	for _, known := range d.known() {
		if a := known.attack; a.Incident() && !a.FalsePositive() && !a.Result() {
			facts.Incidents++
		}
	}
	d.Events = append(d.Events, d.cfg.accountEvent(record.FirstStart, 0, d.at, facts))
}

// deletable are the records, and the storms that are over, that left the lookback so long ago that they won't flicker
// at its edge any more. Left out are those whose events a mute suppresses, and those with an event lately, as at the
// end of a long mute: people have yet to be notified.
func (d *decision) deletable() (ids []string) {
	edge := d.at.Add(-2 * d.cfg.Account.Lookback)
	add := func(id string, last time.Time) {
		if last.Before(edge) && d.at.Sub(d.state(id).ObservedAt) >= keptAfterEvent {
			ids = append(ids, id)
		}
	}
	for id, seen := range d.known() {
		if !d.suppressed[id] {
			add(id, cmp.Or(seen.attack.Last, seen.at))
		}
	}
	for id := range d.st.storms {
		if s := d.state(id); !storm.Active(*s, d.at) {
			add(id, cmp.Or(s.Attack.Last, s.ObservedAt))
		}
	}
	return ids
}
