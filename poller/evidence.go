package poller

import (
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	// leastSpan is the shortest time over which hits are counted: the service's clock shows whole seconds.
	leastSpan = 10 * time.Second
	// maxMilestones is how many milestones are kept of an attack, and firstMilestones how many of them are its first.
	maxMilestones, firstMilestones = 30, 10
)

// alteration is what is to be done to evidence.
type alteration struct {
	st         *state
	snap       snapshot
	ids        []string                // of the attacks
	milestones map[string]record.Event // by attack id
	peaks      map[string]record.Peak  // faster than what is known; perhaps not than what is stored
}

// evidenceChanges is what a result makes of evidence, and how fast hits come: of attacks with a card of their own that changed, or of which there is an
// event. A poll without change costs nothing, and one in which hits come no faster than before needs no stored evidence.
func evidenceChanges(st *state, snap snapshot, res *result) alteration {
	c := alteration{st: st, snap: snap, milestones: map[string]record.Event{}, peaks: map[string]record.Peak{}}
	for _, e := range res.Events {
		if e.Attack().ID != "" && e.Kind != record.Grew {
			c.milestones[e.Attack().ID] = e
		}
	}
	res.paces = map[string]pace{}
	altered := map[string]bool{}
	for id := range c.milestones {
		altered[id] = true
	}
	for _, id := range snap.changed {
		before, shown := st.records[id], st.attacks.of(id)
		if decided, ok := res.Attacks[id]; ok {
			shown = decided
		}
		if before == nil || !shown.Notified || shown.Grouped() {
			continue
		}
		now, peak := st.paces[id].measure(before, *snap.records[id], snap.at)
		if res.paces[id] = now; peak.PerMinute > 0 {
			c.peaks[id], altered[id] = peak, true
		}
		if st.attacks.of(id).Rebuilt {
			altered[id] = true // nothing is known of how it began: from now on there is evidence
		}
	}
	c.ids = slices.Collect(maps.Keys(altered))
	return c
}

// stored are the attacks of which evidence may be stored.
func (c alteration) stored() []string {
	return slices.DeleteFunc(slices.Clone(c.ids), func(id string) bool { return !c.st.attacks.of(id).Notified })
}

// apply adds the evidence to a result, altered from what is stored.
func (c alteration) apply(stored map[string]record.Evidence, res *result) {
	res.Evidence = map[string]record.Evidence{}
	for _, id := range c.ids {
		e, known := stored[id]
		if !known {
			e = c.begin(id, res)
		}
		peak, fast := c.peaks[id]
		if fast = fast && (e.Peak == nil || peak.PerMinute > e.Peak.PerMinute); fast {
			e.Peak = &peak
		}
		event, milestone := c.milestones[id]
		if milestone {
			e = addMilestone(e, event)
		}
		if fast || milestone || !known {
			res.Evidence[id] = e
		}
		if now, measured := res.paces[id]; measured {
			now.known = true
			if e.Peak != nil {
				now.peak = e.Peak.PerMinute
			}
			res.paces[id] = now
		}
	}
}

// begin is the evidence of an attack of which none was stored yet.
func (c alteration) begin(id string, res *result) record.Evidence {
	s, seen := c.st.attacks.of(id), c.st.attacks[id] != nil
	if seen && (!s.Notified || s.Grouped()) {
		return record.Evidence{First: record.Observation{At: s.ObservedAt, Attack: s.Attack.Brief()}, Late: s.Grouped()} // which moves on with its storm
	}
	now, read := c.snap.records[id]
	switch known := c.st.records[id]; {
	case !read && known != nil:
		now = known.attack
	case !read: // it is a storm
		now = new(res.Attacks[id].Attack)
	}
	return record.Evidence{First: record.Observation{At: c.snap.at, Attack: now.Brief()}, Late: seen}
}

// measure takes an observation in; before is the one before it. The peak is a zero one unless hits came faster than is known.
func (c pace) measure(before *seenRecord, a apiclient.Attack, at time.Time) (next pace, peak record.Peak) {
	if !a.Hits.Known {
		return c, record.Peak{}
	}
	if before.attack.Hits.Known && (!c.hits.Known || c.hits == before.attack.Hits && at.Sub(before.at) >= leastSpan) {
		c.hits, c.at = before.attack.Hits, before.at // until then no hit came
	}
	span := at.Sub(c.at)
	if c.hits.Known && span >= 0 && span < leastSpan {
		return c, record.Peak{}
	}
	from := c
	c.hits, c.at = a.Hits, at
	if !from.hits.Known || span <= 0 {
		return c, record.Peak{}
	}
	rate := int64(float64(a.Hits.N-from.hits.N) / span.Minutes())
	if rate <= 0 || c.known && rate <= c.peak {
		return c, record.Peak{}
	}
	return c, record.Peak{Observation: record.Observation{At: at, Attack: a.Brief()}, Since: from.at, PerMinute: rate}
}

// addMilestone adds an event. Where there are too many, those are dropped that lie between the begin and the end.
func addMilestone(e record.Evidence, n record.Event) record.Evidence {
	e.Milestones = append(slices.Clip(e.Milestones), record.Milestone{At: n.At, Kind: n.Kind, Hits: n.Attack().Hits, Status: n.Attack().Status()})
	if len(e.Milestones) > maxMilestones {
		e.Milestones = slices.Delete(e.Milestones, firstMilestones, firstMilestones+1)
		e.Dropped++
	}
	return e
}
