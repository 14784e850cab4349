package poller

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// denial is a source's share of a record that shows what an entry stopped.
type denial struct {
	record *apiclient.Attack
	hits   apiclient.Figure
}

// results are the records of mitigations at work that a snapshot holds newly.
type results struct {
	bySource map[netip.Addr][]denial
	patches  []*apiclient.Attack
}

// stops are the tries of attacks with a card that the snapshot's records of mitigations show, by attack id: of those
// that go on, and of which there are more than are known.
func (d *decision) stops() map[string]*record.Stopped {
	r := results{bySource: map[netip.Addr][]denial{}}
	for _, id := range d.changed {
		r.add(d.records[id], d.st.records[id])
	}
	if len(r.bySource)+len(r.patches) == 0 {
		return nil
	}
	all := map[string]*record.Stopped{}
	for _, id := range d.st.ongoing() {
		attack, before := d.latest(id), d.st.stoppedOf(id)
		if attack == nil {
			continue // it is a storm
		}
		if now := r.noted(before, *attack); now.Last().After(before.Last()) || now.Tries() > before.Tries() {
			all[id] = now
		}
	}
	return all
}

// add takes a record in. A source that sent no more since it was read before was not stopped since.
func (r *results) add(a *apiclient.Attack, before *seenRecord) {
	switch a.Type {
	case apiclient.TypeVirtualPatch:
		r.patches = append(r.patches, a)
	case apiclient.TypeBlockedSource:
		for _, source := range a.Sources {
			if before != nil && len(a.Sources) > 1 && slices.ContainsFunc(before.attack.Sources,
				func(was apiclient.Source) bool {
					return was.IP == source.IP && was.Hits.Known && source.Hits.Known && was.Hits.N >= source.Hits.N
				}) {
				continue
			}
			r.bySource[source.IP] = append(r.bySource[source.IP], denial{a, source.Hits})
			if net := apiclient.Net64(source.IP); net != source.IP { // attacks may list it by either
				r.bySource[net] = append(r.bySource[net], denial{a, source.Hits})
			}
		}
	}
}

// noted is what was seen stopped of an attack's tries, with what these records show of it.
func (r results) noted(before *record.Stopped, attack apiclient.Attack) *record.Stopped {
	now := record.Stopped{Sources: map[netip.Addr]record.Tally{}}
	if before != nil {
		now.Patched = before.Patched
		maps.Copy(now.Sources, before.Sources)
	}
	for _, source := range attack.Sources {
		for _, d := range r.bySource[source.IP] {
			if ofAttack(attack, *d.record) {
				now.Sources[source.IP] = raised(now.Sources[source.IP], attack, *d.record, d.hits)
			}
		}
	}
	for _, patch := range r.patches {
		if ofAttack(attack, *patch) && samePlace(attack, *patch) {
			now.Patched = raised(now.Patched, attack, *patch, patch.Hits)
		}
	}
	return &now
}

// ofAttack reports whether a record shows tries of the time and the application of an attack.
func ofAttack(attack, result apiclient.Attack) bool {
	return !result.Last.Before(attack.First) && (!attack.App.Known || !result.App.Known || attack.App == result.App)
}

// samePlace reports whether what a virtual patch stopped was meant for the place of an attack, and for its part of the
// request as far as both say.
func samePlace(attack, result apiclient.Attack) bool {
	return attack.Path == result.Path && strings.EqualFold(attack.Domain, result.Domain) &&
		strings.EqualFold(attack.Method, result.Method) &&
		(attack.Parameter == "" || result.Parameter == "" || attack.Parameter == result.Parameter)
}

// raised is a tally after a record was read. What counts is the record's own figure, so that nothing is counted twice;
// of a record that began before the attack it isn't known how much of it was the attack's, but for the last try.
func raised(t record.Tally, attack, result apiclient.Attack, hits apiclient.Figure) record.Tally {
	n := int64(1)
	if hits.Known && !result.First.IsZero() && !result.First.Before(attack.First) {
		n = max(n, hits.N)
	}
	return record.Tally{N: max(t.N, n), First: record.Earlier(t.First, result.First),
		Last: record.Later(t.Last, result.Last)}
}

// stoppedOf is what was seen of an attack's tries that were stopped: as it was read since, or as it is stored.
func (st *state) stoppedOf(id string) *record.Stopped {
	if s, noted := st.stopped[id]; noted {
		return s
	}
	return st.attacks.of(id).Stopped
}

// evidence is how attacks with a card of their own looked when they were read first. The store keeps the first of each.
// It is begun with each event that is more than newer figures: what was stored may be lost. What was rebuilt from its
// card has none until it is read again.
func (d *decision) evidence() map[string]record.Evidence {
	begun := map[string]record.Evidence{}
	for _, e := range d.Events {
		if id := e.Subject; id != "" && e.Kind != record.Grew {
			first := d.firstSeen(id)
			if s := d.st.attacks.of(id); !s.Notified || s.Grouped() {
				first.CardAt = e.At
			}
			begun[id] = first
		}
	}
	for _, id := range d.changed {
		if s := d.st.attacks.of(id); s.Rebuilt && s.Notified {
			begun[id] = d.firstSeen(id)
		}
	}
	return begun
}

// firstSeen is the evidence of an attack that has none yet.
func (d *decision) firstSeen(id string) record.Evidence {
	s := d.st.attacks[id]
	if s != nil && (!s.Notified || s.Grouped()) { // a grouped one moves on with its storm
		return record.Evidence{First: record.Observation{At: s.ObservedAt, Attack: s.Attack.Brief()}, Late: s.Grouped()}
	}
	now := d.latest(id)
	if now == nil { // it is a storm
		now = &d.state(id).Attack
	}
	return record.Evidence{First: record.Observation{At: d.at, Attack: now.Brief()}, Late: s != nil}
}
