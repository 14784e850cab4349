package poller

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

const (
	// leastSpan is the shortest time over which hits are counted: the service's clock shows whole seconds.
	leastSpan = 10 * time.Second
	// maxTurns is how many turns are kept of an attack, and keptTurns how many of them are its first.
	maxTurns, keptTurns = 30, 10
)

// Evidence is what an attack that was told looked like, kept when it was seen: the service's record goes on changing.
type Evidence struct {
	First   Sight  `json:"first"`             // when wafbot saw it first
	Late    bool   `json:"late,omitempty"`    // nothing was known any more of the first sight: First is a later one
	Peak    *Peak  `json:"peak,omitempty"`    // nil: it was not read twice yet
	Course  []Turn `json:"course,omitempty"`  // the oldest first, at most 30
	Dropped int    `json:"dropped,omitempty"` // turns that were left out of the middle

	from count // what the next rate is measured from; not remembered
}

// Sight is what an attack looked like when it was read.
type Sight struct {
	At     time.Time        `json:"at"`     // on the service's clock
	Attack apiclient.Attack `json:"attack"` // as Brief makes it
}

// Peak is the reading before which hits came faster than ever between two readings.
type Peak struct {
	Sight
	Since     time.Time `json:"since"`      // of the reading before
	PerMinute int64     `json:"per_minute"` // hits
}

// Turn is a piece of news about an attack that was more than its figures.
type Turn struct {
	At     time.Time        `json:"at"` // of the poll, on the service's clock
	Reason Reason           `json:"reason"`
	Hits   apiclient.Figure `json:"hits"`
	Status apiclient.Status `json:"status"`
}

// count is how many hits there were at a time.
type count struct {
	hits apiclient.Figure
	at   time.Time
}

// witness adds to an update what becomes evidence: of attacks with a card that changed, or about which there is news. A poll without change
// costs nothing.
func (p *Poller) witness(ctx context.Context, u *Update, r reading) error {
	turns := map[string]News{}
	for _, n := range u.News {
		if n.Attack.ID != "" && n.Reason != Grew {
			turns[n.Attack.ID] = n
		}
	}
	concerned := turnsAndChanged(turns, r.changed, func(id string) bool {
		shown, decided := u.Shown[id]
		return decided && shown.Told || p.shown[id].Told
	})
	if len(concerned) == 0 {
		return nil
	}
	known, err := p.knownEvidence(ctx, concerned)
	if err != nil {
		return err
	}
	u.Evidence, u.measured = map[string]Evidence{}, map[string]Evidence{}
	for _, id := range concerned {
		e, isKnown := known[id]
		if !isKnown {
			e = p.firstSight(id, r)
		}
		e, grew := e.measure(p.latest[id], r.attacks[id], r.at)
		n, turned := turns[id]
		if turned {
			e = e.turn(n)
		}
		if u.measured[id] = e; turned || grew || !isKnown {
			u.Evidence[id] = e
		}
	}
	return nil
}

// turnsAndChanged are the ids of what turned, and of what changed and has a card, each once.
func turnsAndChanged(turns map[string]News, changed []string, told func(id string) bool) (ids []string) {
	seen := map[string]bool{}
	for id := range turns {
		seen[id], ids = true, append(ids, id)
	}
	for _, id := range changed {
		if !seen[id] && told(id) {
			seen[id], ids = true, append(ids, id)
		}
	}
	return ids
}

// knownEvidence is what is known of attacks that were told before: it is read when it is wanted, because few of the told attacks ever change again.
func (p *Poller) knownEvidence(ctx context.Context, ids []string) (map[string]Evidence, error) {
	known := map[string]Evidence{}
	var unread []string
	for _, id := range ids {
		if e, ok := p.evidence[id]; ok {
			known[id] = e
		} else if p.shown[id].Told {
			unread = append(unread, id)
		}
	}
	if len(unread) == 0 {
		return known, nil
	}
	read, err := p.cfg.Memory.LoadEvidence(ctx, p.cfg.Account, unread)
	for id, e := range read {
		known[id] = e
	}
	return known, err
}

// firstSight is the evidence of an attack of which none was kept yet.
func (p *Poller) firstSight(id string, r reading) Evidence {
	shown, seen := p.shown[id]
	if seen && !shown.Told {
		return Evidence{First: Sight{shown.SeenAt, shown.Attack.Brief()}}
	}
	now, read := r.attacks[id]
	if !read {
		now = p.latest[id].attack
	}
	return Evidence{First: Sight{r.at, now.Brief()}, Late: seen}
}

// measure takes a reading in: was is the one before, nil if there was none. grew reports whether hits came faster than ever.
func (e Evidence) measure(was *sighting, a apiclient.Attack, at time.Time) (_ Evidence, grew bool) {
	if !a.Hits.Known {
		return e, false
	}
	if was != nil && was.attack.Hits.Known && (!e.from.hits.Known || e.from.hits == was.attack.Hits && at.Sub(was.at) >= leastSpan) {
		e.from = count{was.attack.Hits, was.at} // until then no hit came
	}
	span := at.Sub(e.from.at)
	if e.from.hits.Known && span >= 0 && span < leastSpan {
		return e, false
	}
	from := e.from
	e.from = count{a.Hits, at}
	if !from.hits.Known || span <= 0 {
		return e, false
	}
	rate := int64(float64(a.Hits.N-from.hits.N) / span.Minutes())
	if rate <= 0 || e.Peak != nil && rate <= e.Peak.PerMinute {
		return e, false
	}
	e.Peak = &Peak{Sight: Sight{at, a.Brief()}, Since: from.at, PerMinute: rate}
	return e, true
}

// turn adds a piece of news to the course. Where it gets too long, what is dropped lies between how it began and how it ended.
func (e Evidence) turn(n News) Evidence {
	e.Course = append(slices.Clip(e.Course), Turn{n.At, n.Reason, n.Attack.Hits, n.Attack.Status()})
	if len(e.Course) > maxTurns {
		e.Course = slices.Delete(e.Course, keptTurns, keptTurns+1)
		e.Dropped++
	}
	return e
}

// keepEvidence takes over what was remembered, and drops from this memory what is not going on: it is read again if it is wanted. The caller
// holds mu.
func (p *Poller) keepEvidence(u Update) {
	for id, e := range u.measured {
		if p.shown[id].Quiet {
			delete(p.evidence, id)
		} else {
			p.evidence[id] = e
		}
	}
	for _, id := range u.Forget {
		delete(p.evidence, id)
	}
}
