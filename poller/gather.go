package poller

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// gathering is what is held of a storm between polls.
type gathering struct {
	members map[string]bool // ids of the attacks that it gathered
	waits   bool            // its figures are no news yet, or may not be right
	until   time.Time       // when to look at them again, on the service's clock
}

// gusts are what one poll found of storms.
type gusts struct {
	came      arrivals                      // those of the last while, with those of this poll
	begun     map[string]record.AttackState // storms that begin, by id
	joined    map[string][]string           // ids of attacks that are gathered now, by storm
	over      map[string]bool               // storms to which more came than the limit
	incidents int                           // that came
	turns     map[string]record.Event       // of what happened to gathered attacks, by id: it is kept as evidence and told to nobody
	waits     map[string]time.Time          // storms to look at again, and when; zero: not before something changes
}

func noGusts() gusts {
	return gusts{
		begun: map[string]record.AttackState{}, joined: map[string][]string{}, over: map[string]bool{}, turns: map[string]record.Event{}, waits: map[string]time.Time{},
		came: arrivals{attacks: map[string][]arrival{}},
	}
}

// arrivals are the new attacks of the last while, by channel, and new incidents.
type arrivals struct {
	attacks   map[string][]arrival
	incidents arrival // of the last poll alone: a storm's are those that come from its first poll on
}

// arrival is how many came in one poll.
type arrival struct {
	at time.Time // on the service's clock
	n  int
}

// and adds what came at a time, and drops what came longer ago than that counts.
func and(came []arrival, at time.Time, n int, in time.Duration) []arrival {
	lately := slices.DeleteFunc(slices.Clone(came), func(a arrival) bool { return at.Sub(a.at) >= in })
	if n == 0 {
		return lately
	}
	return append(lately, arrival{at, n})
}

func sum(came []arrival) (n int) {
	for _, a := range came {
		n += a.n
	}
	return n
}

// gather takes the news of new attacks back that come too fast for a card each, and has storms tell of them instead. Incidents, and attacks of
// which somebody wants a card, are told alone. So are those that the news of a gap lists.
func (p *Poller) gather(u *Update, r reading, said said) {
	in := p.cfg.Storm.In
	singles := map[string][]record.Event{} // by channel
	for _, n := range u.Events {
		switch {
		case n.Kind == record.NewIncident || n.Kind == record.BecameIncident:
			u.gusts.incidents++
		case n.Kind == record.NewAttack && !said.wanted(n.Attack().ID) && !p.bridged(n, u, r.at):
			singles[n.Channel] = append(singles[n.Channel], n)
		}
	}
	u.gusts.came.incidents = arrival{r.at, u.gusts.incidents}
	if p.came.incidents.at.Equal(r.at) { // the poll's first page was told already
		u.gusts.came.incidents.n += p.came.incidents.n
	}
	for channel, came := range p.came.attacks {
		u.gusts.came.attacks[channel] = and(came, r.at, len(singles[channel]), in)
	}
	if p.cfg.Storm.Over == 0 {
		return
	}
	for channel, news := range singles {
		u.gusts.came.attacks[channel] = and(p.came.attacks[channel], r.at, len(news), in)
		p.gatherIn(u, r, channel, news)
	}
	u.Events = slices.DeleteFunc(u.Events, func(n record.Event) bool { return n.Kind == record.NewAttack && u.Shown[n.Attack().ID].Gathered() })
}

// gatherIn gathers the new attacks of a channel if there is a storm, or begins with them.
func (p *Poller) gatherIn(u *Update, r reading, channel string, news []record.Event) {
	came := sum(u.gusts.came.attacks[channel])
	over := came > p.cfg.Storm.Over
	storm, blows := p.stormIn(channel, r.at)
	switch {
	case !blows && !over:
		return
	case !blows:
		storm = stormID(channel, r.at)
		u.gusts.begun[storm] = record.AttackState{Channel: channel, Storm: &record.Storm{
			Over: p.cfg.Storm.Over, In: p.cfg.Storm.In, EndsAfter: p.cfg.Storm.EndsAfter, Began: r.at, Exceeded: r.at,
			CaughtUp: p.lastGood.IsZero() || p.gap(r.at), Before: came - len(news), Incidents: u.gusts.came.incidents.n - u.gusts.incidents,
		}}
	}
	u.gusts.over[storm] = over
	for _, n := range news {
		id := n.Attack().ID
		s := u.Shown[id]
		s.In, s.Own, s.Revision = storm, false, s.Revision-1
		s.Pager, s.Mention, s.Spared, s.Hushed, s.CalledAt = nil, "", "", false, time.Time{} // nobody is called about it
		u.Shown[id] = s
		u.gusts.joined[storm] = append(u.gusts.joined[storm], id)
		u.gusts.turns[id] = n
	}
}

// stormIn is the storm that gathers what comes to a channel now; false if there is none.
func (p *Poller) stormIn(channel string, at time.Time) (id string, ok bool) {
	for one := range p.storms {
		s := p.shown[one]
		if s.Channel == channel && blowing(s, at) && (!ok || s.Storm.Began.After(p.shown[id].Storm.Began)) {
			id, ok = one, true
		}
	}
	return id, ok
}

// judgeGathered judges an attack that a storm's card tells of. It gets a card of its own when it becomes an incident, when somebody wants one,
// and when it gets worse, or resumes, after the storm; else what becomes of it shows in the figures of the storm.
func (p *Poller) judgeGathered(u *Update, look Look, r reading, said said) {
	id := look.Attack.ID
	last, muted := p.shown[id], look.Muted
	look.Muted = false // a storm's card tells of those that are muted, too
	reason, news := compare(last, true, look)
	wanted := said.wanted(id)
	alone := (reason == record.Worsened || reason == record.Resumed) && !blowing(p.shown[last.In], r.at)
	switch {
	case reason == record.BecameIncident || wanted:
	case alone && muted:
		u.held[id] = true
		return
	case alone:
	case !news || reason == record.WentQuiet && !r.covers(look.Attack.Last):
		return
	default:
		s := after(last, look, reason)
		s.Revision = last.Revision // that counts news
		u.Shown[id] = s
		if reason != record.Grew {
			u.gusts.turns[id] = record.Event{Kind: reason, At: r.at, Payload: record.AttackChanged{Attack: look.Attack}}
		}
		return
	}
	f := finding{last: last, reason: record.NewAttack, calm: p.lastGood.IsZero() || wanted && reason != record.BecameIncident} // who asked for a card need not be called to it
	if look.Attack.Incident() {
		f.reason = record.NewIncident
	}
	var routed bool
	if f.route, routed = p.route(look.Attack); !routed {
		f.route.Channel = last.Channel
	}
	f.last.Told, f.last.Own = false, true
	f.now = after(f.last, look, f.reason)
	p.tell(u, r, f)
}

// wanted reads of which gathered attacks somebody wants a card, if there are any that have none.
func (p *Poller) wanted(ctx context.Context) func(attackid string) bool {
	none := func(string) bool { return false }
	if p.cfg.Wanted == nil {
		return none
	}
	for range p.cardless() {
		wanted, err := p.cfg.Wanted(ctx)
		if err != nil {
			p.cfg.Log.Warn("read which cards are wanted: none is given in this poll", "err", err)
		}
		if err != nil || wanted == nil {
			return none
		}
		return func(attackid string) bool { return p.shown[attackid].Gathered() && wanted(attackid) }
	}
	return none
}

// cardless are the ids of all attacks that only a storm's card tells of.
func (p *Poller) cardless() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, g := range p.storms {
			for id := range g.members {
				if p.shown[id].Gathered() && !yield(id) {
					return
				}
			}
		}
	}
}

// loadStorms puts together which attacks each remembered storm gathered. The caller holds mu.
func (p *Poller) loadStorms() {
	p.storms = map[string]*gathering{}
	for id, s := range p.shown {
		if s.Storm != nil {
			p.storms[id] = &gathering{members: map[string]bool{}, waits: true} // perhaps not all of a poll was remembered
		}
	}
	for id, s := range p.shown {
		if g := p.storms[s.In]; g != nil {
			g.members[id] = true
		}
	}
}

// keepStorms takes over what an update says of storms, before the update's attacks are taken over. The caller holds mu.
func (p *Poller) keepStorms(u Update) {
	p.came = u.gusts.came
	for id := range u.gusts.begun {
		p.storms[id] = &gathering{members: map[string]bool{}}
	}
	for storm, ids := range u.gusts.joined {
		for _, id := range ids {
			if before := p.storms[p.shown[id].In]; before != nil {
				delete(before.members, id)
			}
			p.storms[storm].members[id] = true
		}
	}
	for id, until := range u.gusts.waits {
		if g := p.storms[id]; g != nil {
			g.waits, g.until = !until.IsZero(), until
		}
	}
	for _, id := range u.Forget {
		if g := p.storms[p.shown[id].In]; g != nil {
			delete(g.members, id)
		}
		delete(p.storms, id)
	}
}
