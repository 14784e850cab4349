package waf

import (
	"slices"
	"time"
)

// trafficKept is how long the traffic of each second is kept.
const trafficKept = 180 * time.Second

// Step plays the traffic since the last Step up to now.
func (s *traffic) Step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	played := false
	for s.played.Before(now) {
		// Slices end with the second, so that each belongs to one point of traffic.
		end := s.played.Truncate(time.Second).Add(time.Second)
		if end.After(now) {
			end = now
		}
		for _, a := range s.accounts {
			played = s.playSlice(a, s.played, end) || played
		}
		s.played = end
	}
	for _, a := range s.accounts {
		a.prune(now)
	}
	if played {
		s.notify()
	}
}

// playSlice sends what is due of every running attack of the account, and reports whether there was a hit.
func (s *traffic) playSlice(a *account, from, to time.Time) bool {
	for _, e := range a.entries {
		e.expire(from, s.delay(listDelay))
	}
	played := false
	for _, c := range a.campaigns {
		begin, end := from, to
		if c.joined.After(begin) {
			begin = c.joined
		}
		if !c.ends.IsZero() && c.ends.Before(end) {
			end = c.ends
		}
		if !begin.Before(end) {
			continue
		}
		for _, source := range c.sources {
			source.owed += source.PerSecond * end.Sub(begin).Seconds()
			if n := int64(source.owed); n > 0 {
				source.owed -= float64(n)
				s.hit(a, c, hits{source, n, begin})
				played = true
			}
		}
	}
	return played
}

// playPast plays what a new attack did before now: at least one hit, none an hour apart.
func (s *traffic) playPast(a *account, c *campaign, now time.Time) {
	last := now
	if !c.ends.IsZero() && c.ends.Before(last) {
		last = c.ends
	}
	lasted := last.Sub(c.started)
	total := c.spec.Hits
	if total == 0 {
		for _, source := range c.sources {
			total += int64(source.PerSecond * lasted.Seconds())
		}
	}
	total = max(total, 1)
	steps := int64(max(20, lasted/(silence/2)))
	shares := c.shares(total)
	for step := range steps {
		at := c.started.Add(lasted * time.Duration(step) / time.Duration(steps-1))
		for i, share := range shares {
			if share > 0 {
				s.hit(a, c, hits{c.sources[i], sent(share, step, steps) - sent(share, step-1, steps), at})
			}
		}
	}
}

// sent is how many of all hits have been sent with a step: the first goes with the first step, the last with the last.
func sent(all, step, steps int64) int64 {
	if step < 0 {
		return 0
	}
	return 1 + (all-1)*step/(steps-1)
}

// hits are what a source sends at one time.
type hits struct {
	source *source
	n      int64
	at     time.Time
}

// hit applies the entries and rules in force to hits of an attack.
func (s *traffic) hit(a *account, c *campaign, h hits) {
	if h.n == 0 {
		return
	}
	var now Totals
	switch a.judge(c, h.source, h.at) {
	case through:
		now.Through = h.n
		s.report(a, c, h).totals.Through += h.n
	case unseen:
		now.Through = h.n
	case blocked:
		now.Blocked = h.n
		s.report(a, c, h).totals.Blocked += h.n
	case denied:
		now.Blocked = h.n
		s.reportDenied(a, c, h)
	case patched:
		now.Blocked = h.n
		s.reportPatched(a, c, h)
	}
	h.source.totals.add(now)
	a.point(h.at).add(h.source.IP, now)
}

func (t *Totals) add(more Totals) {
	t.Through += more.Through
	t.Blocked += more.Blocked
}

// report counts hits in the attack's record; after an hour's silence that is a new one.
func (s *traffic) report(a *account, c *campaign, h hits) *record {
	r := c.record()
	if r.hits() > 0 && h.at.Sub(r.last) > silence {
		r = s.newRecord(a, c.spec, h.at)
		c.records = append(c.records, r)
	}
	if r.hits() == 0 {
		r.vulnID = c.vulnID
		a.records = append(a.records, r)
	}
	r.add(h.source, h.n, h.at)
	return r
}

// reportPatched counts what a virtual patch stopped, in a record of its own; after an hour's silence that is a new one.
func (s *traffic) reportPatched(a *account, c *campaign, h hits) {
	r := c.patched
	if r == nil || h.at.Sub(r.last) > silence {
		spec := c.spec
		spec.Type = virtualPatch
		r = s.newRecord(a, spec, h.at)
		c.patched = r
		a.records = append(a.records, r)
	}
	r.add(h.source, h.n, h.at)
	r.totals.Blocked += h.n
}

// deniedSource is a denied source at an application.
type deniedSource struct {
	ip  string
	app int
}

// reportDenied counts hits of a denied source in a record of its own: the first five, then one in ten. Hits of sources that are never in ip_top are
// not reported.
func (s *traffic) reportDenied(a *account, c *campaign, h hits) {
	if h.source.other {
		return
	}
	key := deniedSource{h.source.IP, c.spec.App}
	r := a.denied[key]
	if r == nil || h.at.Sub(r.last) > silence {
		spec := c.spec
		spec.Type, spec.Parameter = blockedSource, ""
		r = s.newRecord(a, spec, h.at)
		a.denied[key] = r
		a.records = append(a.records, r)
	}
	uploaded := func(met int64) int64 { return min(met, 5) + max(0, met-5)/10 }
	n := uploaded(r.met+h.n) - uploaded(r.met)
	r.met += h.n
	if n > 0 {
		r.add(h.source, n, h.at)
		r.totals.Blocked += n
	}
}

// point returns the account's traffic in the second of a time.
func (a *account) point(at time.Time) *TrafficPoint {
	i, found := slices.BinarySearchFunc(a.traffic, at.Unix(), func(p TrafficPoint, second int64) int { return int(p.Time - second) })
	if !found {
		a.traffic = slices.Insert(a.traffic, i, TrafficPoint{Time: at.Unix(), Sources: map[string]Totals{}})
	}
	return &a.traffic[i]
}

func (p *TrafficPoint) add(ip string, more Totals) {
	p.Totals.add(more)
	of := p.Sources[ip]
	of.add(more)
	p.Sources[ip] = of
}

// prune deletes what is no longer shown.
func (a *account) prune(now time.Time) {
	a.traffic = slices.DeleteFunc(a.traffic, func(p TrafficPoint) bool { return p.Time <= now.Add(-trafficKept).Unix() })
	a.entries = slices.DeleteFunc(a.entries, func(e *entry) bool { return !e.listed() && !e.inForce(now) && now.After(e.until) })
	a.rules = slices.DeleteFunc(a.rules, func(r *rule) bool { return !r.listed() && now.After(r.until) })
}
