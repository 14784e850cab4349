package poller

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// stops are the tries of attacks with a card that the snapshot's records of mitigations show, by attack id: of those that go on, and of which there are
// more than are known.
func (d *decision) stops() map[string]record.Stopped {
	var results []*apiclient.Attack
	for _, id := range d.snap.changed {
		if a := d.snap.records[id]; a.Result() {
			results = append(results, a)
		}
	}
	if len(results) == 0 {
		return nil
	}
	all := map[string]record.Stopped{}
	for _, id := range d.st.ongoing() {
		seen := d.st.records[id]
		if seen == nil {
			continue // it is a storm
		}
		attack, before := seen.attack, d.st.stoppedOf(id)
		if read := d.snap.records[id]; read != nil {
			attack = read
		}
		now := before
		for _, r := range results {
			now = noteStopped(now, *attack, *r)
		}
		if now.Last().After(before.Last()) || now.Tries() > before.Tries() {
			all[id] = now
		}
	}
	return all
}

// noteStopped takes in what a record of a mitigation shows of an attack's tries.
func noteStopped(s record.Stopped, attack, result apiclient.Attack) record.Stopped {
	switch {
	case result.Last.Before(attack.First), attack.App.Known && result.App.Known && attack.App != result.App:
	case result.Type == apiclient.TypeVirtualPatch:
		if samePlace(attack, result) {
			s.Patched = raised(s.Patched, attack, result, result.Hits)
		}
	default:
		s.Sources = maps.Clone(s.Sources)
		for _, source := range attack.Sources {
			for _, denied := range result.Sources {
				if denied.IP == source.IP {
					if s.Sources == nil {
						s.Sources = map[netip.Addr]record.Tally{}
					}
					s.Sources[source.IP] = raised(s.Sources[source.IP], attack, result, denied.Hits)
				}
			}
		}
	}
	return s
}

// samePlace reports whether what a virtual patch stopped was meant for the place of an attack, and for its part of the request as far as both say.
func samePlace(attack, result apiclient.Attack) bool {
	return attack.Path == result.Path && strings.EqualFold(attack.Domain, result.Domain) && strings.EqualFold(attack.Method, result.Method) &&
		(attack.Parameter == "" || result.Parameter == "" || attack.Parameter == result.Parameter)
}

// raised is a tally after a record was read. What counts is the record's own figure, so that nothing is counted twice; of a record that began before
// the attack it isn't known how much of it was the attack's, but for the last try.
func raised(t record.Tally, attack, result apiclient.Attack, hits apiclient.Figure) record.Tally {
	n := int64(1)
	if hits.Known && !result.First.IsZero() && !result.First.Before(attack.First) {
		n = max(n, hits.N)
	}
	if t.First.IsZero() || result.First.After(t.First) {
		t.First = result.First
	}
	t.N, t.Last = max(t.N, n), record.Later(t.Last, result.Last)
	return t
}

// stoppedOf is what was seen of an attack's tries that were stopped: as it was read since, or as it is stored.
func (st *state) stoppedOf(id string) record.Stopped {
	if s, noted := st.stopped[id]; noted {
		return s
	}
	return st.attacks.of(id).Stopped
}

// applyStopped takes over what was seen stopped, until it is stored with an event.
func (st *state) applyStopped(r result) {
	maps.Copy(st.stopped, r.stopped)
	for id, s := range r.Attacks {
		if !s.Stopped.Last().Before(st.stopped[id].Last()) || s.Quiet {
			delete(st.stopped, id)
		}
	}
	for _, id := range r.Delete {
		delete(st.stopped, id)
	}
}
