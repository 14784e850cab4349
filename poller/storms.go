package poller

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// group takes the events of new attacks back that come too fast for a card each, and has storms show them instead.
// Incidents keep theirs. So do those that the event of a monitoring gap lists.
func (d *decision) group() {
	came, singles := map[string]int{}, map[string][]string{} // by channel; incidents by none
	for _, e := range d.Events {
		switch {
		case e.Kind == record.NewIncident || e.Kind == record.BecameIncident:
			came[""]++
		case e.Kind == record.NewAttack && !d.listedByGap(e):
			singles[e.Channel] = append(singles[e.Channel], e.Subject)
			came[e.Channel]++
		}
	}
	cfg := d.cfg.storm()
	d.storms = storm.Batch{
		Config: cfg, At: d.at, CatchingUp: d.st.lastGood.IsZero() || d.gap(), Whole: d.whole, Complete: d.good &&
			d.capped == "",
		Storms: map[string]record.AttackState{}, Arrivals: d.st.arrivals.Add(d.at, came, cfg.In), Incidents: came[""],
		Joined: map[string]int{}, Over: map[string]bool{},
	}
	for id := range d.st.storms {
		d.storms.Storms[id] = d.st.attacks.of(id)
	}
	if cfg.Over == 0 {
		return
	}
	for channel, ids := range singles {
		if joined := d.storms.Group(channel, len(ids)); joined != "" {
			for _, id := range ids {
				d.Attacks[id] = storm.Join(d.Attacks[id], joined)
			}
		}
	}
	d.Events = slices.DeleteFunc(d.Events, func(e record.Event) bool {
		return e.Kind == record.NewAttack && d.Attacks[e.Subject].Grouped()
	})
}

// judgeGrouped judges an attack that shows only in a storm's card. It gets a card of its own when it becomes an
// incident, and when it gets worse, or resumes, after the storm; otherwise what becomes of it shows in the storm's
// figures.
func (d *decision) judgeGrouped(o compare.Observation) {
	id := o.Attack.ID
	last := d.st.attacks.of(id)
	kind, _ := compare.Event(last, true, o) // a storm's card also shows attacks that are muted
	after := (kind == record.Worsened || kind == record.Resumed) && !storm.Active(d.st.attacks.of(last.StormID), d.at)
	switch {
	case kind == record.BecameIncident:
	case after && d.isMuted(o.Attack):
		d.suppressed[id] = true
		return
	case after:
	case kind == record.WentQuiet && !d.covers(o.Attack.Last):
		d.judgeAgain(id)
		return
	case kind == "":
		return
	default:
		s := compare.After(last, o, kind)
		s.Revision, s.History = last.Revision, nil // which count and show events
		d.Attacks[id] = s
		return
	}
	d.giveCard(last, o)
}

// giveCard gives a grouped attack a card of its own.
func (d *decision) giveCard(last record.AttackState, o compare.Observation) {
	kind := record.NewAttack
	if o.Attack.Incident() {
		kind = record.NewIncident
	}
	route, routed := d.cfg.route(o.Attack)
	if !routed {
		route.Channel = last.Channel
	}
	last.Notified, last.OwnCard = false, true
	d.emit(last, compare.After(last, o, kind), kind, route)
}

// judgeStorms adds what is to be stored and notified of storms: new ones, those with a changed attack or a new incident
// beside them, ended ones, and those whose figures waited for their minute.
func (d *decision) judgeStorms() {
	touched := map[string]bool{}
	for _, id := range d.changed {
		touched[d.st.attacks.of(id).StormID] = true
	}
	for id, s := range d.Attacks {
		touched[s.StormID], touched[d.st.attacks.of(id).StormID] = true, true
	}
	for id, s := range d.storms.Storms {
		active, check := storm.Active(s, d.at), d.st.storms[id]
		ends := s.Storm.Ended.IsZero() && !s.Rebuilt && !active
		if touched[id] || ends || active && d.storms.Incidents > 0 || !check.IsZero() && !d.at.Before(check) {
			d.judgeStorm(s)
		}
	}
}

// judgeStorm judges a storm as it was last stored, or as it begins.
func (d *decision) judgeStorm(last record.AttackState) {
	id := last.Attack.ID
	members := d.members(id)
	t := storm.Sum(last, members, d.at)
	d.checkAt[id] = time.Time{}
	if t.Storm.Ongoing > 0 {
		d.checkAt[id] = d.at.Add(compare.RedrawAfter) // no record shows that from now on only a denied source is still trying
	}
	if t.Storm.Grouped == 0 {
		d.closeStorm(last)
		return
	}
	t.Advance(&d.storms)
	kind, event := t.Event()
	due := last.ObservedAt.Add(compare.RedrawAfter)
	switch {
	case event && last.Notified && d.isMuted(t.Attack):
		d.checkAt[id] = d.at // until the mute ends
		if last.Storm.Changed(&t.Storm) {
			last.Storm = t.Kept() // its end doesn't wait
			d.Attacks[id] = last
		}
		return
	case t.Storm.Growing():
		d.checkAt[id] = d.at // the polls are counted that find no more of it
	case event && last.Rebuilt && !d.whole:
		d.checkAt[id] = d.at // it is known again only when everything was read
	case !event && d.at.Before(due):
		d.checkAt[id] = due
	}
	switch {
	case event:
		now := t.After(d.whole, kind)
		for _, m := range members {
			now.Severity = record.Worst(now.Severity, m.Severity, record.SeverityOf(m.Attack))
		}
		d.emit(last, now, kind, d.cfg.stormRoute(last.Channel, t.Routes))
	case t.Storm.Steady != last.Storm.Steady:
		steadier := *last.Storm
		steadier.Steady, last.Storm = t.Storm.Steady, &steadier
		d.Attacks[id] = last
	}
}

// closeStorm ends a storm that was rebuilt from its card and has no attacks any more. Its card stays as it is.
func (d *decision) closeStorm(last record.AttackState) {
	switch id := last.Attack.ID; {
	case !last.Rebuilt || !last.Storm.Ended.IsZero():
	case !d.whole:
		d.checkAt[id] = d.at
	default:
		over := *last.Storm
		over.Ended, last.Storm = d.at, &over
		d.Attacks[id] = last
	}
}

// members are the attacks that a storm groups, as they were last read.
func (d *decision) members(id string) (all []storm.Member) {
	for s := range d.states() {
		if s.StormID != id {
			continue
		}
		if read := d.latest(s.Attack.ID); read != nil && read != &s.Attack {
			now := *s
			now.Attack, s = *read, &now
		}
		o := d.observe(s.Attack)
		trying := o.StillTrying
		o.StillTrying = false
		all = append(all, storm.Member{
			AttackState: s, OnlyTrying: trying && o.Silent(), Window: s.Window(d.cfg.Account.OngoingFor),
			Route: d.cfg.routeIndex(s.Attack),
		})
	}
	return all
}
