package poller

import (
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// group takes the events of new attacks back that come too fast for a card each, and has storms show them instead.
// Incidents keep theirs. So do those that the event of a monitoring gap lists.
func (d *decision) group() {
	batch, singles, counts := &d.out.storms, map[string][]record.Event{}, map[string]int{} // by channel
	for _, e := range d.out.Events {
		switch {
		case e.Kind == record.NewIncident || e.Kind == record.BecameIncident:
			batch.Incidents++
		case e.Kind == record.NewAttack && !d.listedByGap(e):
			singles[e.Channel] = append(singles[e.Channel], e)
			counts[e.Channel]++
		}
	}
	batch.Arrivals = d.st.arrivals.Add(d.snap.at, batch.Incidents, counts, d.cfg.storm())
	if d.cfg.Account.Storm.Over == 0 {
		return
	}
	for channel, events := range singles {
		id := batch.Group(d.stormPoll(), channel, events)
		if id == "" {
			continue
		}
		for _, e := range events {
			d.out.Attacks[e.Attack().ID] = storm.Join(d.out.Attacks[e.Attack().ID], id)
		}
	}
	d.out.Events = slices.DeleteFunc(d.out.Events, func(e record.Event) bool {
		return e.Kind == record.NewAttack && d.out.Attacks[e.Attack().ID].Grouped()
	})
}

func (d *decision) stormPoll() storm.Poll {
	return storm.Poll{Config: d.cfg.storm(), At: d.snap.at, CatchingUp: d.st.lastGood.IsZero() || d.gap(), Storms: d.st.stormStates()}
}

// judgeGrouped judges an attack that shows only in a storm's card. It gets a card of its own when it becomes an
// incident, and when it gets worse, or resumes, after the storm; otherwise what becomes of it shows in the storm's
// figures.
func (d *decision) judgeGrouped(o compare.Observation) {
	id := o.Attack.ID
	last := d.st.attacks.of(id)
	kind, _ := compare.Event(last, true, o) // a storm's card also shows attacks that are muted
	after := (kind == record.Worsened || kind == record.Resumed) && !storm.Active(d.st.attacks.of(last.StormID), d.snap.at)
	switch {
	case kind == record.BecameIncident:
	case after && d.isMuted(o.Attack):
		d.out.suppressed[id] = true
		return
	case after:
	case kind == record.WentQuiet && !d.snap.covers(o.Attack.Last):
		d.judgeAgain(id)
		return
	case kind == "":
		return
	default:
		s := compare.After(last, o, kind)
		s.Revision, s.History = last.Revision, nil // which count and show events
		d.out.Attacks[id] = s
		return
	}
	d.giveCard(last, o)
}

// giveCard gives a grouped attack a card of its own.
func (d *decision) giveCard(last record.AttackState, o compare.Observation) {
	f := finding{last: last, kind: record.NewAttack, calm: d.st.lastGood.IsZero()}
	if o.Attack.Incident() {
		f.kind = record.NewIncident
	}
	var routed bool
	if f.route, routed = d.cfg.route(o.Attack); !routed {
		f.route.Channel = last.Channel
	}
	f.last.Notified, f.last.OwnCard = false, true
	f.now = compare.After(f.last, o, f.kind)
	d.emit(f)
}

// judgeStorms adds what is to be stored and notified of storms: those that begin, those of which an attack changed,
// those that end, and those whose figures waited for their minute.
func (d *decision) judgeStorms() {
	touched := d.touchedStorms()
	for id, begun := range d.out.storms.Begun {
		d.judgeStorm(begun.Named(id))
	}
	for id, g := range d.st.storms {
		s := d.st.attacks.of(id)
		ends := s.Storm.Ended.IsZero() && !s.Rebuilt && !storm.Active(s, d.snap.at)
		if touched[id] || ends || g.waits && !d.snap.at.Before(g.until) {
			d.judgeStorm(s)
		}
	}
}

// touchedStorms are the storms of which an attack was read otherwise than before, or beside which an incident came.
func (d *decision) touchedStorms() map[string]bool {
	touched := map[string]bool{}
	for _, id := range d.snap.changed {
		touched[d.st.attacks.of(id).StormID] = true
	}
	for id, s := range d.out.Attacks {
		touched[s.StormID], touched[d.st.attacks.of(id).StormID] = true, true
	}
	if d.out.storms.Incidents > 0 {
		for id := range d.st.storms {
			touched[id] = touched[id] || storm.Active(d.st.attacks.of(id), d.snap.at)
		}
	}
	return touched
}

// judgeStorm judges a storm as it was last stored, or as it begins.
func (d *decision) judgeStorm(last record.AttackState) {
	id, at, batch := last.Attack.ID, d.snap.at, &d.out.storms
	batch.CheckAt[id] = time.Time{}
	members := d.members(id)
	t := storm.Sum(last, members, at)
	if t.Storm.Ongoing > 0 {
		batch.CheckAt[id] = at.Add(compare.RedrawAfter) // no record shows that from now on only a denied source is still trying
	}
	if t.Storm.Grouped == 0 {
		d.closeStorm(last)
		return
	}
	t.Advance(last, storm.Progress{
		Poll: d.stormPoll(), Incidents: batch.Incidents, Joined: len(batch.Joined[id]), Over: batch.Over[id], Whole: d.snap.whole,
		Complete: d.snap.good && d.snap.capped == "",
	})
	if t.Storm.Growing() {
		batch.CheckAt[id] = at // the polls are counted that find no more of it
	}
	kind, event := t.Event(last, at)
	if event && last.Notified && d.isMuted(t.Attack) {
		batch.CheckAt[id] = at // until the mute ends
		if last.Storm.Changed(&t.Storm) {
			last.Storm = t.Kept() // its end doesn't wait
			d.out.Attacks[id] = last
		}
		return
	}
	if due := last.ObservedAt.Add(compare.RedrawAfter); !event && !t.Storm.Growing() && at.Before(due) {
		batch.CheckAt[id] = due
	}
	if !event && t.Storm.Steady != last.Storm.Steady {
		steadier := *last.Storm
		steadier.Steady, last.Storm = t.Storm.Steady, &steadier
		d.out.Attacks[id] = last
	}
	if event && last.Rebuilt && !d.snap.whole {
		batch.CheckAt[id] = at // it is known again only when everything was read
	}
	if event {
		// What was going on before the first start mentions people only when it gets worse.
		now := t.After(last, at, d.snap.whole, kind)
		for _, m := range members {
			now.Severity = record.Worst(now.Severity, m.Severity, record.SeverityOf(m.Attack))
		}
		d.emit(finding{last: last, now: now, kind: kind, route: d.cfg.stormRoute(last.Channel, t.Routes), calm: d.st.lastGood.IsZero()})
	}
}

// closeStorm ends a storm that was rebuilt from its card and of whose attacks none goes on.
func (d *decision) closeStorm(last record.AttackState) {
	switch id := last.Attack.ID; {
	case !last.Rebuilt || !last.Storm.Ended.IsZero():
	case !d.snap.whole:
		d.out.storms.CheckAt[id] = d.snap.at
	default:
		d.out.Attacks[id] = storm.Closed(last, d.snap.at)
	}
}

// members are the attacks that a storm groups, as they were last read.
func (d *decision) members(id string) (all []storm.Member) {
	ids := d.out.storms.Joined[id]
	if g := d.st.storms[id]; g != nil {
		ids = slices.AppendSeq(slices.Clone(ids), maps.Keys(g.members))
	}
	for _, attack := range ids {
		s, read := d.state(attack), d.snap.records[attack]
		if seen := d.st.records[attack]; read == nil && seen != nil {
			read = seen.attack
		}
		if read != nil && read != &s.Attack {
			now := *s
			now.Attack, s = *read, &now
		}
		if s.StormID == id {
			all = append(all, storm.Member{AttackState: s, OnlyTrying: d.st.onlyTrying(s.Attack, d.snap.at, d.snap.tries), Window: s.Window(d.cfg.Account.OngoingFor), Route: d.cfg.routeIndex(s.Attack)})
		}
	}
	return all
}

// deletableStorms are those that are over and left the lookback so long ago that no attack of theirs can be read again.
func (d *decision) deletableStorms(edge time.Time) (ids []string) {
	for id := range d.st.storms {
		s := d.attack(id)
		last := s.Attack.Last
		if last.IsZero() {
			last = s.ObservedAt
		}
		if !storm.Active(s, d.snap.at) && last.Before(edge) && d.snap.at.Sub(s.ObservedAt) >= keptAfterEvent {
			ids = append(ids, id)
		}
	}
	return ids
}
