package poller

import (
	"cmp"
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
func decide(cfg *Config, st *state, snap snapshot, muted func(apiclient.Attack) bool) result {
	d := &decision{cfg: cfg, st: st, snap: snap, muted: muted, out: result{
		PollUpdate: record.PollUpdate{LastGood: st.lastGood, Attacks: map[string]record.AttackState{}}, suppressed: map[string]bool{}, again: map[string]bool{}, storms: storm.NewBatch(),
	}}
	d.out.stopped = d.stops()
	for id, a := range d.candidates() {
		o := st.observe(*a, snap.at, snap.tries)
		if now, more := d.out.stopped[id]; more {
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
	if st.lastGood.IsZero() && snap.good {
		d.firstStart()
	}
	d.closeGap()
	sortEvents(d.out.Events)
	return d.out
}

// sortEvents puts the most urgent first.
func sortEvents(events []record.Event) {
	slices.SortFunc(events, func(a, b record.Event) int {
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), b.Attack().Last.Compare(a.Attack().Last), cmp.Compare(a.Attack().ID, b.Attack().ID))
	})
}

// candidates are the attacks that can be events: what was read, and once a poll what time alone can make an event, and
// what a mute suppressed and may be over. That is little beside all that is known.
func (d *decision) candidates() map[string]*apiclient.Attack {
	if d.snap.early {
		return d.snap.records
	}
	attacks := maps.Clone(d.snap.records)
	add := func(id string) bool {
		if _, read := attacks[id]; !read {
			attacks[id] = d.st.records[id].attack
		}
		return true
	}
	d.st.agenda.until(d.snap.at)(add)
	maps.Keys(d.out.stopped)(add)
	maps.Keys(d.st.suppressed)(add)
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
	first := d.st.lastGood.IsZero()
	last, known := d.st.attacks.of(id), d.st.attacks[id] != nil
	o.Muted = func() bool { return d.isMuted(o.Attack) }
	kind, suppressed := compare.Event(last, known, o)
	if suppressed { // its state stays as it was, so that no event is lost
		d.out.suppressed[id] = true
	}
	pauses := kind == record.Grew && !last.Paused && o.Pauses(last)
	tooEarly := (kind == record.WentQuiet || pauses) && !d.snap.covers(o.Attack.Last)
	if tooEarly {
		d.judgeAgain(id)
	}
	tooLate := !last.Notified && (first && o.Silent() || !known && d.overBefore(o))
	if kind == "" || tooEarly || tooLate {
		aged := !last.Notified && o.Attack.Last.Sub(last.Attack.Last) >= refreshAfter
		if !known || aged || kind == "" && last.Rebuilt && !suppressed {
			d.out.Attacks[id] = compare.After(last, o, "")
		}
		return
	}
	// What was going on before the first start mentions people only when it gets worse.
	d.emit(finding{last: last, now: compare.After(last, o, kind), kind: kind, route: route, calm: first})
}

// overBefore reports whether an attack was over at the account's first start, when everything that went on got a card.
func (d *decision) overBefore(o compare.Observation) bool {
	return !o.Attack.Last.IsZero() && d.st.firstStart.Sub(o.Attack.Last) >= d.cfg.Account.OngoingFor
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
	count := func(a *apiclient.Attack) {
		if a.Incident() && !a.FalsePositive() && !a.Result() {
			facts.Incidents++
		}
	}
	for id, seen := range d.st.records {
		if d.snap.records[id] == nil {
			count(seen.attack)
		}
	}
	for _, a := range d.snap.records {
		count(a)
	}
	d.out.Events = append(d.out.Events, d.cfg.accountEvent(record.FirstStart, 0, d.snap.at, facts))
}

// deletable are the records that left the lookback so long ago that they won't flicker at its edge any more. Left out
// are those whose events a mute suppresses, and those with an event lately, as at the end of a long mute: people have
// yet to be notified.
func deletable(cfg *Config, st *state, snap snapshot, r result) (ids []string) {
	d := &decision{cfg: cfg, st: st, snap: snap, out: r}
	edge := snap.at.Add(-2 * cfg.Account.Lookback)
	ids = d.deletableStorms(edge)
	for id, seen := range st.records {
		if r.suppressed[id] || snap.at.Sub(d.attack(id).ObservedAt) < keptAfterEvent {
			continue
		}
		if a, read := snap.records[id]; read {
			seen = &seenRecord{attack: a, at: snap.at}
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
