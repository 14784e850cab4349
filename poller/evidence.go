package poller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

const (
	// leastSpan is the shortest time over which hits are counted: the service's clock shows whole seconds.
	leastSpan = 10 * time.Second
	// maxTurns is how many turns are kept of an attack, and keptTurns how many of them are its first.
	maxTurns, keptTurns = 30, 10
)

// pace is how fast an attack's hits come. It is all that is held of evidence between polls: what is to be altered is read for that.
type pace struct {
	hits  apiclient.Figure // from which the next rate is measured
	at    time.Time        // when there were so many
	peak  int64            // hits per minute, as Memory has it
	known bool             // peak is
}

// witness adds to an update what becomes evidence: of attacks with a card that changed, or about which there is news. A poll without change
// costs nothing, and one in which hits come no faster than before needs no Memory.
func (p *Poller) witness(ctx context.Context, u *Update, r reading) error {
	turns := map[string]record.Event{}
	maps.Copy(turns, u.gusts.turns)
	for _, n := range u.Events {
		if id := n.Attack().ID; id != "" && n.Kind != record.Grew {
			turns[id] = n
		}
	}
	u.paces = map[string]pace{}
	peaks, altered := map[string]record.Peak{}, map[string]bool{}
	for id := range turns {
		altered[id] = true
	}
	for _, id := range r.changed {
		was := p.latest[id]
		if shown := u.Shown[id]; was == nil || !shown.Told && !p.shown[id].Told {
			continue
		}
		now, peak := p.paces[id].measure(was, r.attacks[id], r.at)
		if u.paces[id] = now; peak.PerMinute > 0 {
			peaks[id], altered[id] = peak, true
		}
		if p.shown[id].Recalled {
			altered[id] = true // nothing is known of how it began: from now on there is
		}
	}
	return p.alter(ctx, u, r, alteration{slices.Collect(maps.Keys(altered)), turns, peaks})
}

// alteration is what is to be done to evidence, by attack id.
type alteration struct {
	ids   []string
	turns map[string]record.Event
	peaks map[string]record.Peak // faster than what is known; perhaps not than what Memory has
}

// alter reads the evidence that is to be altered, and adds it altered to the update.
func (p *Poller) alter(ctx context.Context, u *Update, r reading, how alteration) error {
	var told []string
	for _, id := range how.ids {
		if p.shown[id].Told {
			told = append(told, id)
		}
	}
	known := map[string]record.Evidence{}
	if len(told) > 0 {
		var err error
		if known, err = p.cfg.Memory.LoadEvidence(ctx, p.cfg.Account, told); err != nil {
			return err
		}
	}
	u.Evidence = map[string]record.Evidence{}
	for _, id := range how.ids {
		e, isKnown := known[id]
		if !isKnown {
			e = p.firstSight(id, u, r)
		}
		peak, fast := how.peaks[id]
		if fast = fast && (e.Peak == nil || peak.PerMinute > e.Peak.PerMinute); fast {
			e.Peak = &peak
		}
		n, turned := how.turns[id]
		if turned {
			e = evidenceTurn(e, n)
		}
		if fast || turned || !isKnown {
			u.Evidence[id] = e
		}
		if now, measured := u.paces[id]; measured {
			now.known = true
			if e.Peak != nil {
				now.peak = e.Peak.PerMinute
			}
			u.paces[id] = now
		}
	}
	return nil
}

// firstSight is the evidence of an attack of which none was kept yet.
func (p *Poller) firstSight(id string, u *Update, r reading) record.Evidence {
	shown, seen := p.shown[id]
	if seen && !shown.Told {
		return record.Evidence{First: record.Observation{At: shown.SeenAt, Attack: shown.Attack.Brief()}}
	}
	now, read := r.attacks[id]
	switch known := p.latest[id]; {
	case !read && known != nil:
		now = known.attack
	case !read: // it is a storm
		now = u.Shown[id].Attack
	}
	return record.Evidence{First: record.Observation{At: r.at, Attack: now.Brief()}, Late: seen}
}

// measure takes a reading in; was is the one before. The peak is a zero one unless hits came faster than is known.
func (c pace) measure(was *sighting, a apiclient.Attack, at time.Time) (next pace, peak record.Peak) {
	if !a.Hits.Known {
		return c, record.Peak{}
	}
	if was.attack.Hits.Known && (!c.hits.Known || c.hits == was.attack.Hits && at.Sub(was.at) >= leastSpan) {
		c.hits, c.at = was.attack.Hits, was.at // until then no hit came
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

// turn adds a piece of news to the course. Where it gets too long, what is dropped lies between how it began and how it ended.
func evidenceTurn(e record.Evidence, n record.Event) record.Evidence {
	attack := n.Attack()
	e.Course = append(slices.Clip(e.Course), record.Milestone{At: n.At, Kind: n.Kind, Hits: attack.Hits, Status: attack.Status()})
	if len(e.Course) > maxTurns {
		e.Course = slices.Delete(e.Course, keptTurns, keptTurns+1)
		e.Dropped++
	}
	return e
}

// keepPaces takes over how fast hits come, of what goes on. The caller holds mu.
func (p *Poller) keepPaces(u Update) {
	for id, now := range u.paces {
		if p.shown[id].Quiet {
			delete(p.paces, id)
		} else {
			p.paces[id] = now
		}
	}
	for _, id := range u.Forget {
		delete(p.paces, id)
	}
}
