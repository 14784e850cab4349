package poller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// refreshAfter keeps an attack without a card from being forgotten while it goes on.
const refreshAfter = time.Hour

// keptAfterNews is how long an attack is remembered after it was news, however old it is.
const keptAfterNews = time.Hour

// said is what people said that decides what is news.
type said struct {
	muted  func(apiclient.Attack) bool     // nobody wants to hear of it now
	wanted func(gathered string) (ok bool) // somebody wants a card of it
}

// decide names the news in a reading and all that has to be remembered of it. What is muted is asked only when that can matter:
// most polls find nothing new.
func (p *Poller) decide(ctx context.Context, r reading) Update {
	said := said{muted: func(apiclient.Attack) bool { return false }, wanted: p.wanted(ctx)}
	u := p.decideWith(r, said)
	if p.cfg.Muted == nil || len(u.Events)+len(p.held) == 0 {
		return u
	}
	muted, err := p.cfg.Muted(ctx)
	if err != nil {
		p.cfg.Log.Warn("read mutes: nothing is muted in this poll", "err", err) // rather too much is told than too little
		return u
	}
	said.muted = muted
	return p.decideWith(r, said)
}

// decideWith is decide with what people said. It changes nothing.
func (p *Poller) decideWith(r reading, said said) Update {
	u := Update{LastGood: p.lastGood, Shown: map[string]record.AttackState{}, held: map[string]bool{}, gusts: noGusts()}
	for id, a := range p.worthALook(r, said) {
		look := p.look(a, r.at)
		look.Muted = !a.Incident() && said.muted(a)
		if p.shown[id].Gathered() {
			p.judgeGathered(&u, look, r, said)
			continue
		}
		if look.Muted {
			u.held[id] = true
		}
		p.judge(&u, look, r)
	}
	alone := len(u.Events)
	p.gather(&u, r, said)
	gathered := alone - len(u.Events)
	p.judgeStorms(&u, r, said)
	if p.lastGood.IsZero() {
		u.Events = append(u.Events, p.firstStart(r, record.FirstStartFacts{Ongoing: alone, Gathered: gathered}))
	}
	sortEvents(u.Events)
	return u
}

// sortEvents puts the most urgent first.
func sortEvents(events []record.Event) {
	slices.SortFunc(events, func(a, b record.Event) int {
		x, y := a.Attack(), b.Attack()
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), y.Last.Compare(x.Last), cmp.Compare(x.ID, y.ID))
	})
}

// worthALook are the attacks that can be news: what was read, what time alone can make news, what a mute kept back that may be over, and
// what somebody wants a card of. That is little beside all that is known.
func (p *Poller) worthALook(r reading, said said) map[string]apiclient.Attack {
	attacks := maps.Clone(r.attacks)
	add := func(id string) bool {
		if _, read := r.attacks[id]; !read {
			attacks[id] = p.latest[id].attack
		}
		return true
	}
	p.agenda.until(r.at)(add)
	maps.Keys(p.held)(add)
	for id := range p.cardless() {
		if said.wanted(id) {
			add(id)
		}
	}
	return attacks
}

// plan puts a told attack on the agenda for the time from which it can be news without being read: for its figures, which wait for their
// minute, as a pause does, or for its silence. Whether they are is not decided here.
func (p *Poller) plan(id string) {
	shown := p.shown[id]
	if shown.Pager != nil {
		p.paged[id] = true
	}
	if shown.Storm != nil {
		return // it is looked at in each poll
	}
	a := p.latest[id].attack
	switch {
	case !shown.Told || shown.Recalled || a.Result() || a.FalsePositive(): // of one that was only read back from its card nothing is known
		p.agenda.drop(id)
	case differs(shown.Attack, a):
		p.agenda.put(id, shown.SeenAt)
	case !shown.Quiet && !a.Last.IsZero():
		at := a.Last.Add(p.cfg.OngoingFor)
		if pause := shown.SeenAt.Add(redrawAfter); attackStateComing(shown) && pause.Before(at) {
			at = pause
		}
		p.agenda.put(id, at)
	default:
		p.agenda.drop(id)
	}
}

// judge adds one attack to the update, if there is anything to remember about it.
func (p *Poller) judge(u *Update, look Look, r reading) {
	if look.Attack.Result() {
		return
	}
	route, routed := p.route(look.Attack)
	look.Routed = routed
	first := p.lastGood.IsZero()
	last, known := p.shown[look.Attack.ID]
	reason, news := compare(last, known, look)
	tooEarly := reason == record.WentQuiet && !r.covers(look.Attack.Last)
	tooLate := !last.Told && (first && look.silent() || !known && p.overBefore(look))
	if !news || tooEarly || tooLate {
		movedOn := !last.Told && look.Attack.Last.Sub(last.Attack.Last) >= refreshAfter
		if !known || movedOn {
			u.Shown[look.Attack.ID] = after(last, look, "")
		}
		return
	}
	// What was going on before the bot came is no reason to call anybody.
	p.tell(u, r, finding{last: last, now: after(last, look, reason), reason: reason, route: route, calm: first})
}

// finding is that an attack, or a storm, is news.
type finding struct {
	last, now record.AttackState // now as after makes it
	reason    record.EventKind
	route     Route // that takes it
	calm      bool  // it calls nobody until it gets worse
}

// tell adds a finding to the update, with whom it calls.
func (p *Poller) tell(u *Update, r reading, f finding) {
	s, last, route, attackid := f.now, f.last, f.route, f.now.Attack.ID
	if !last.Told || f.reason == record.BecameIncident && route.Channel != "" {
		s.Channel = route.Channel // an incident may belong elsewhere than the attack did
	}
	if !f.calm && !last.Told {
		s.Found = r.begin.Round(0).UTC()
	}
	s, suppressed := f.call(s, r.at, p.cfg.Quiet)
	if !f.calm {
		s.Pager = pagerAfter(last.Pager, f.reason, route, r.begin)
	}
	id := record.DeliveryID(p.cfg.Account, attackid, f.reason, s.Revision)
	if !last.Told {
		id = record.CardDelivery(p.cfg.Account, attackid)
	}
	u.Shown[attackid] = s
	u.Events = append(u.Events, record.Event{
		ID: id, Account: p.cfg.Account, Kind: f.reason, Channel: s.Channel, At: r.at,
		Payload: record.AttackChanged{Attack: s.Attack, Revision: s.Revision, Mention: s.Mention, Suppressed: suppressed, Quiet: s.Quiet, Storm: s.Storm},
	})
}

func (p *Poller) firstStart(r reading, facts record.FirstStartFacts) record.Event {
	for _, a := range r.attacks {
		if a.Incident() && !a.FalsePositive() && !a.Result() {
			facts.Incidents++
		}
	}
	return record.Event{
		ID: record.DeliveryID(p.cfg.Account, "", record.FirstStart, 0), Account: p.cfg.Account,
		Kind: record.FirstStart, Channel: p.cfg.Channel, At: r.at, Payload: facts,
	}
}

func (p *Poller) look(a apiclient.Attack, at time.Time) Look {
	knocks := slices.ContainsFunc(a.Sources, func(s apiclient.Source) bool { return p.knocks(s.IP, at) })
	return Look{Attack: a, At: at, Knocking: knocks, OngoingFor: p.cfg.OngoingFor}
}

// onlyKnocks reports whether an attack would be silent if none of its sources, which are denied, still tried.
func (p *Poller) onlyKnocks(a apiclient.Attack, at time.Time) bool {
	look := p.look(a, at)
	knocks := look.Knocking
	look.Knocking = false
	return knocks && look.silent()
}

// heed notes which sources still try that are denied, or stopped by a patch: their hits leave the attack's record for one of their own.
func (p *Poller) heed(a apiclient.Attack) {
	if !a.Result() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range a.Sources {
		if a.Last.After(p.knocked[s.IP]) {
			p.knocked[s.IP] = a.Last
		}
	}
}

// forgettable are the records that left the lookback so long ago that they won't flicker at its edge any more. What a mute keeps back
// is not among them, nor what was news lately, as at the end of a long mute: that has yet to be told.
func (p *Poller) forgettable(r reading, u Update) (ids []string) {
	edge := r.at.Add(-2 * p.cfg.Lookback)
	ids = p.forgettableStorms(r.at, edge, u)
	for id, seen := range p.latest {
		shown, decided := u.Shown[id]
		if !decided {
			shown = p.shown[id]
		}
		if u.held[id] || r.at.Sub(shown.SeenAt) < keptAfterNews {
			continue
		}
		if a, read := r.attacks[id]; read {
			seen = &sighting{attack: a, at: r.at}
		}
		last := seen.attack.Last
		if last.IsZero() {
			last = seen.at
		}
		if last.Before(edge) {
			ids = append(ids, id)
		}
	}
	return ids
}
