package poller

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/compare"
	"github.com/wafbot/wafbot/poller/storm"
)

// keptAfterEvent is how long an attack is stored after an event of it, however old it is.
const keptAfterEvent = time.Hour

// decision is what one snapshot means beside the state, which stays as it is until the decision is saved: what is to be
// saved, and what only this process has to know.
type decision struct {
	record.PollUpdate
	snapshot

	cfg    *Config
	st     *state
	muted  func(apiclient.Attack) bool // asked only where there would be an event
	causes []string                    // why the polls before failed, in words for people; none: they didn't

	suppressed map[string]bool            // attack ids whose events a mute suppresses
	stopped    map[string]*record.Stopped // by attack id
	storms     storm.Batch
	checkAt    map[string]time.Time // when to look at a storm again; zero: not before something changes
	counted    bool                 // Sources is what was counted with this snapshot, even if nil: nothing new
	again      map[string]bool      // ids of records that must be judged again with what the snapshot lacks
}

// latest is a record as it was read last; nil: it has none, as a storm.
func (d *decision) latest(id string) *apiclient.Attack {
	if read := d.records[id]; read != nil {
		return read
	}
	if seen := d.st.records[id]; seen != nil {
		return seen.attack
	}
	return nil
}

// known are all records, as they were read last.
func (d *decision) known() map[string]seenRecord {
	known := make(map[string]seenRecord, len(d.st.records))
	for id, seen := range d.st.records {
		known[id] = *seen
	}
	for id, a := range d.records {
		known[id] = seenRecord{attack: a, at: d.at}
	}
	return known
}

// state is the state of an attack or storm as this decision leaves it, without a copy of what is stored.
func (d *decision) state(id string) *record.AttackState {
	if _, decided := d.Attacks[id]; decided {
		s := d.Attacks[id] // declared here, or each call would take memory for one
		return &s
	}
	if s := d.st.attacks[id]; s != nil {
		return s
	}
	return &record.AttackState{}
}

// states are the states of all attacks and storms as this decision leaves them.
func (d *decision) states() iter.Seq[*record.AttackState] {
	return func(yield func(*record.AttackState) bool) {
		for _, s := range d.Attacks {
			if !yield(&s) {
				return
			}
		}
		for id, s := range d.st.attacks {
			if _, decided := d.Attacks[id]; !decided && !yield(s) {
				return
			}
		}
	}
}

func (d *decision) isMuted(a apiclient.Attack) bool { return !a.Incident() && d.muted(a) }

// gap reports whether the account was not polled between the last good poll and this snapshot.
func (d *decision) gap() bool {
	last := d.st.lastGood
	away := !d.st.outage.From.IsZero() || d.at.Sub(last) > max(leastGap, outageAfter*d.cfg.Account.PollInterval)
	return !last.IsZero() && away
}

// judgeAgain has a record judged again, if it was read, though its bytes stay the same.
func (d *decision) judgeAgain(id string) {
	if _, read := d.records[id]; read {
		d.again[id] = true
	}
}

// emit adds the event that an attack or storm is, by its states before and now and the route that takes it, with whom
// it mentions. What was going on before the first start mentions and pages people only when it gets worse.
func (d *decision) emit(last, s record.AttackState, kind record.EventKind, route config.Route) {
	id, calm := s.Attack.ID, d.st.lastGood.IsZero()
	if !last.Notified || kind == record.BecameIncident && route.Channel != "" {
		s.Channel = route.Channel // an incident may belong elsewhere than the attack did
	}
	if !calm && !last.Notified {
		s.FoundAt = d.at.UTC()
	}
	suppressed := d.mention(last, &s, kind, route)
	if !calm {
		s.Pager = d.cfg.pagerAfter(last.Pager, kind, route, d.at)
	}
	delivery := record.DeliveryID(d.cfg.Account.Name, id, kind, s.Revision)
	if !last.Notified {
		delivery = record.CardDelivery(d.cfg.Account.Name, id)
	}
	d.Attacks[id] = s
	if kind == record.Grew && s.Storm == nil && compare.Turns(last, s) {
		d.Stale = append(d.Stale, id)
	}
	d.Events = append(d.Events, record.Event{
		ID: delivery, Account: d.cfg.Account.Name, Kind: kind, Subject: id, Channel: s.Channel, At: d.at,
		Order: s.Revision, Detail: record.AttackFacts{Mention: s.Mention, Suppressed: suppressed},
	})
}

// mention adds to an attack's state whom its event mentions. suppressed reports that this event mentions no people: in
// quiet hours, or because the last mention was a short while ago. An attack that becomes an incident always mentions.
func (d *decision) mention(last record.AttackState, s *record.AttackState, kind record.EventKind,
	route config.Route) (suppressed bool) {
	incident := kind == record.BecameIncident
	if route.Channel != "" && (!last.Notified || incident) {
		s.AckTimeout = route.AckTimeout
		s.Mention, s.SuppressedMention = "", cmp.Or(route.Mention, s.Mention, s.SuppressedMention)
	}
	if last.Rebuilt {
		s.AckTimeout = cmp.Or(s.AckTimeout, route.AckTimeout)
		if s.Mention == "" {
			s.SuppressedMention = cmp.Or(s.SuppressedMention, route.Mention) // the card shows who was mentioned, and not whom to mention when it gets worse
		}
	}
	if d.st.lastGood.IsZero() || !compare.Mentions(kind) {
		return false
	}
	s.Mention, s.SuppressedMention = cmp.Or(s.Mention, s.SuppressedMention), ""
	if s.Suppressed = false; d.cfg.Account.Quiet.Suppresses(d.cfg.Zone, s.Attack, d.at) {
		s.Mention, s.SuppressedMention, s.Suppressed = "", s.Mention, s.Mention != ""
		return true
	}
	if !incident && d.at.Sub(s.MentionedAt) < record.MentionEvery {
		return true
	}
	s.MentionedAt = d.at
	return false
}

// pagerAfter is an attack's pager after an event. What was going on before the first start has none, until it gets
// worse or resumes.
func (c *Config) pagerAfter(p *record.Pager, kind record.EventKind, route config.Route, now time.Time) *record.Pager {
	worse := kind == record.BecameIncident || kind == record.Worsened
	switch {
	case p == nil && route.Page != nil && compare.Mentions(kind):
		return &record.Pager{Route: c.Account.MatchText(route.Match), After: route.Page.After, NotifiedAt: now}
	case p == nil || !worse:
		return p
	}
	next := *p
	next.WorsenedAt = now
	if kind == record.BecameIncident && route.Page != nil {
		next.Route, next.After = c.Account.MatchText(route.Match), route.Page.After
	}
	return &next
}

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
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()),
			d.Attacks[b.Subject].Attack.Last.Compare(d.Attacks[a.Subject].Attack.Last),
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
