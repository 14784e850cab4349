package commands

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Delays are how long after a change was accepted something can be said about it.
type Delays struct {
	Works  time.Duration // it works, as the service promises
	Counts time.Duration // what gets through from now on does so for sure: the service lists hits with a delay
	Judged time.Duration // it is judged by what got through
}

// What the service takes: entries reach its nodes about once a minute; rules are compiled, which takes up to an hour, and then synchronised.
var (
	entryDelays = Delays{Works: time.Minute, Counts: 3 * time.Minute, Judged: 6 * time.Minute}
	ruleDelays  = Delays{Works: time.Hour, Counts: 65 * time.Minute, Judged: 70 * time.Minute}
)

// settling is how long after something was stopped for the first time hits can still get through or be listed: the nodes follow one by one.
const settling = 5 * time.Minute

// worksAgainAfter is how long a change that had no effect is to have worked, so that people are called when it falls again: one that comes and goes
// must not call them each time.
const worksAgainAfter = 3 * settling

// expiredFor is how long it is watched whether the source of an expired denial comes back.
const expiredFor = time.Hour

// delays are those of the change.
func (c Change) delays() Delays {
	if slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Rule != nil }) {
		return ruleDelays
	}
	return entryDelays
}

// judge is how an account's changes are judged: by the real service's delays, and sooner where it is an emulated one that is faster.
type judge struct{ speed float64 }

func (j judge) scaled(d time.Duration) time.Duration {
	if j.speed == 0 {
		return d
	}
	return time.Duration(float64(d) / j.speed)
}

// observe takes what was seen at a glance in. The change was accepted before.
func (j judge) observe(e Effect, c Change, subjects []subject, seen []glimpse) Effect {
	d, parts := c.delays(), map[string]Traffic{}
	for key, t := range e.Parts {
		parts[key] = t
	}
	for _, g := range seen {
		for _, s := range subjects {
			came, as := s.of(g)
			if came.n == 0 {
				continue
			}
			t := parts[s.key]
			if c.expired(came.since) {
				if as == apiclient.StatusNotBlocked {
					t.After = t.After.plus(came)
				}
				parts[s.key] = t
				continue
			}
			from := c.At.Add(j.scaled(d.Counts))
			if first := t.Stopped.First; !first.IsZero() {
				from = earlier(first.Add(j.scaled(settling)), from)
			}
			t = t.see(came, as, c.At.Truncate(time.Second), from)
			if g.turned && as == apiclient.StatusPartly && s.rule != nil {
				t.Stopped = t.Stopped.plus(growth{1, came.since, came.last})
			}
			if t != (Traffic{}) {
				parts[s.key] = t
			}
		}
	}
	if len(parts) > 0 {
		e.Parts = parts
	}
	return e
}

// expired reports whether the change had ended by itself at a time.
func (c Change) expired(at time.Time) bool { return !c.Until.IsZero() && !at.Before(c.Until) }

// finding is what the change does, by all that was seen of it until now. A source that knocks goes on for so long after its last hit.
func (j judge) finding(e Effect, c Change, now time.Time, ongoing time.Duration) Finding {
	if c.expired(now) {
		return e.afterwards(c, ongoing)
	}
	found := map[Finding]bool{}
	for _, key := range c.parts() {
		found[j.part(e.Parts[key], c, now)] = true
	}
	switch {
	case found[NoEffect] && !found[Works] && !found[InPart]:
		return NoEffect
	case found[NoEffect] || found[InPart]:
		return InPart
	case found[Works]:
		return Works
	case found[NotYet]:
		return NotYet
	}
	return Unseen
}

// parts are the keys of all that the change is judged by, in its own order.
func (c Change) parts() (keys []string) {
	for _, s := range c.subjects() {
		keys = append(keys, s.key)
	}
	return keys
}

// part judges one source, or a rule.
func (j judge) part(t Traffic, c Change, now time.Time) Finding {
	d, since := c.delays(), now.Sub(c.At)
	last := later(t.Through.Last, t.Mixed.Last)
	counted := t.Through.N + t.Mixed.N
	switch {
	case t.Stopped.N > 0 && t.Through.N > 0 && t.Through.Last.Sub(t.Stopped.Last) > j.scaled(settling):
		return NoEffect // no longer
	case t.Stopped.N > 0 && now.Sub(last) > j.scaled(settling):
		return Works
	case t.Stopped.N > 0 && counted == 0 && (last.Before(t.Stopped.Last) || since >= j.scaled(d.Counts)):
		return Works
	case t.Stopped.N > 0 && counted == 0:
		return NotYet
	case t.Stopped.N > 0:
		return InPart
	case since < j.scaled(d.Counts), t.Through.N > 0 && since < j.scaled(d.Judged):
		return NotYet
	case t.Through.N > 0:
		return NoEffect
	}
	return Unseen
}

// afterwards is what is found of a denial that expired: a finding stays what it was unless the source goes on.
func (e Effect) afterwards(c Change, ongoing time.Duration) Finding {
	for _, t := range e.Parts {
		if t.After.N > 0 || t.knockedTo(c.Until, ongoing) {
			return CameBack
		}
	}
	return e.Finding
}

// knockedTo reports whether its source went on when the denial expired, as far as what was stopped tells.
func (t Traffic) knockedTo(end time.Time, ongoing time.Duration) bool {
	return t.Stopped.N > 0 && end.Sub(t.Stopped.Last) < ongoing
}

// watched reports whether something is to be seen of a change: it is in force, or was a denial that expired lately.
func (c Change) watched(all []Change, now time.Time) bool {
	inForce := c.InForce(now)
	lately := c.State == StateDone && c.expired(now) && now.Sub(c.Until) < expiredFor && len(c.denied()) > 0 && !c.deniedElsewhere(all, now)
	return (inForce || lately) && !c.superseded(all)
}

// deniedElsewhere reports whether another change denies one of its addresses.
func (c Change) deniedElsewhere(all []Change, now time.Time) bool {
	return slices.ContainsFunc(all, func(other Change) bool {
		return other.ID != c.ID && other.Amends() == "" && other.InForce(now) && slices.ContainsFunc(other.subjects(), func(s subject) bool {
			return s.target != nil && slices.ContainsFunc(c.denied(), s.target.Prefix.Contains)
		})
	})
}
