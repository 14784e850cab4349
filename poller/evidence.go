package poller

import (
	"github.com/wafbot/wafbot/internal/record"
)

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
