package poller

import (
	"github.com/wafbot/wafbot/internal/record"
)

// evidence is how attacks with a card of their own looked when they were read first. The store keeps the first of each. It is
// begun with each event that is more than newer figures: what was stored may be lost. What was rebuilt from its card has none
// until it is read again.
func evidence(st *state, snap snapshot, res *result) map[string]record.Evidence {
	begun := map[string]record.Evidence{}
	for _, e := range res.Events {
		if id := e.Attack().ID; id != "" && e.Kind != record.Grew {
			first := firstSeen(st, snap, res, id)
			if s := st.attacks.of(id); !s.Notified || s.Grouped() {
				first.CardAt = e.At
			}
			begun[id] = first
		}
	}
	for _, id := range snap.changed {
		if s := st.attacks.of(id); s.Rebuilt && s.Notified {
			begun[id] = firstSeen(st, snap, res, id)
		}
	}
	return begun
}

// firstSeen is the evidence of an attack that has none yet.
func firstSeen(st *state, snap snapshot, res *result, id string) record.Evidence {
	s, seen := st.attacks.of(id), st.attacks[id] != nil
	if seen && (!s.Notified || s.Grouped()) { // a grouped one moves on with its storm
		return record.Evidence{First: record.Observation{At: s.ObservedAt, Attack: s.Attack.Brief()}, Late: s.Grouped()}
	}
	now, read := snap.records[id]
	switch known := st.records[id]; {
	case !read && known != nil:
		now = known.attack
	case !read: // it is a storm
		now = new(res.Attacks[id].Attack)
	}
	return record.Evidence{First: record.Observation{At: snap.at, Attack: now.Brief()}, Late: seen}
}
