// Package compare decides whether an attack that was read differs from what people were notified of, and how: pure
// functions of the stored state and one observation.
package compare

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// RedrawAfter is how old a card's figures get before a mere change of them is an event: one edit a minute and card.
const RedrawAfter = time.Minute

// Observation is an attack as it is now, with all else that decides whether it is an event.
type Observation struct {
	Attack      apiclient.Attack
	At          time.Time       // on the service's clock
	StillTrying bool            // a source of it is denied and goes on
	Stopped     *record.Stopped // its tries that were
	OngoingFor  time.Duration   // after its last hit it is ongoing this long
	Routed      bool            // a route has a card for it
	Muted       func() bool     // asked only where there would be an event; nil: it isn't
}

// Silent reports whether the attack is over, as far as can be seen. One without a readable last hit never is.
func (o Observation) Silent() bool {
	last := record.Later(o.Attack.Last, o.Stopped.Last())
	return !o.StillTrying && !o.Attack.Last.IsZero() && o.At.Sub(last) >= o.OngoingFor
}

// Pauses reports whether no hit was seen getting through for the attack's window, though it isn't over. One that is
// blocked doesn't pause: nothing gets through anyway.
func (o Observation) Pauses(last record.AttackState) bool {
	pauses := PausesAt(last, o.Attack, o.OngoingFor)
	return !pauses.IsZero() && !o.At.Before(pauses) && !o.Silent()
}

// PausesAt is from when on an attack pauses if no more hits are seen; zero: it doesn't, as one that only its storm's
// card shows.
func PausesAt(last record.AttackState, a apiclient.Attack, ongoing time.Duration) time.Time {
	if status := a.Status(); a.Last.IsZero() || last.Grouped() || status != apiclient.StatusNotBlocked &&
		status != apiclient.StatusPartly {
		return time.Time{}
	}
	return a.Last.Add(last.Window(ongoing))
}

// resumes reports whether hits are seen again after the attack was quiet, or paused. A source that is still trying
// alone doesn't make it resume.
func (o Observation) resumes(last record.AttackState) bool {
	return (last.Quiet || last.Paused) && o.Attack.Last.After(last.Attack.Last) && !o.Silent() && !o.Pauses(last)
}

// Event names the kind of event that an observation is, "" if it is none, given the last state of the attack (if it is
// known). The same observation again is none. suppressed reports that it is none because the attack is muted.
func Event(last record.AttackState, known bool, o Observation) (kind record.EventKind, suppressed bool) {
	if kind = unmuted(last, known, o); kind != "" && o.Muted != nil && o.Muted() {
		return "", true
	}
	return kind, false
}

// unmuted is the kind of event that an observation is if the attack isn't muted.
func unmuted(last record.AttackState, known bool, o Observation) record.EventKind {
	a := o.Attack
	switch {
	case a.Result():
		return ""
	case a.FalsePositive() && last.Notified && !last.Attack.FalsePositive():
		return record.Grew // its card says so, and there are no more events as long as it is one
	case a.FalsePositive():
		return ""
	case !last.Notified:
		return appeared(last, known, o)
	case a.Incident() && !last.Baseline.Incident:
		return record.BecameIncident
	case Worsened(last.Baseline, a):
		return record.Worsened
	case o.resumes(last):
		return record.Resumed
	case !last.Quiet && o.Silent():
		return record.WentQuiet
	case last.Rebuilt && last.Quiet:
		return "" // what is over is drawn again for a verdict or a change of its own alone
	case last.Rebuilt:
		return record.Grew // its card is as old as its last redraw was, or older
	case !last.Quiet && !last.Paused && o.Pauses(last), ShowsStops(last, o.Stopped, o.At):
		return record.Grew
	case Doubled(last.Attack.Hits, a.Hits) || o.At.Sub(last.ObservedAt) >= RedrawAfter &&
		(Differs(last.Attack, a) || ShowsHits(last)):
		return record.Grew // or no hit came in the last minute
	}
	return ""
}

// ShowsHits reports whether hits came in the minute before the attack's card was drawn: the card says so until it is
// redrawn.
func ShowsHits(s record.AttackState) bool {
	return !s.Quiet && s.ObservedAt.Sub(s.Attack.Last) < RedrawAfter
}

// FiguresAt is when the figures of the attack's card were read, or found unchanged: a good poll that late would have
// made an event of a change. Muted attacks and false positives have no events.
func FiguresAt(s record.AttackState, good time.Time, muted bool) time.Time {
	if !muted && !s.Attack.FalsePositive() && !s.ObservedAt.IsZero() && good.Sub(s.ObservedAt) >= RedrawAfter {
		return good
	}
	return s.ObservedAt
}

// appeared decides about an attack without a card. One that is known and over needs a sign of life to get one now:
// otherwise the second poll would make events of all old attacks that the first start left out.
func appeared(last record.AttackState, known bool, o Observation) record.EventKind {
	a := o.Attack
	alive := !known || !o.Silent() || a.Last.After(last.Attack.Last) || rose(last.Attack.Hits, a.Hits) ||
		a.Incident() && !last.Baseline.Incident || Worsened(last.Baseline, a)
	if !o.Routed || !alive {
		return ""
	}
	if a.Incident() {
		return record.NewIncident
	}
	return record.NewAttack
}

// After is the attack's state after an observation: kind is that of its event, "" when there is none.
func After(last record.AttackState, o Observation, kind record.EventKind) record.AttackState {
	s := last
	s.Attack, s.ObservedAt, s.Rebuilt = o.Attack, o.At, false
	s.Baseline = Raised(last.Baseline, o.Attack, kind)
	s.Severity = record.Worst(last.Severity, record.SeverityOf(o.Attack))
	if kind == "" {
		return s
	}
	s.Stopped = o.Stopped
	if s.Notified = true; o.resumes(last) {
		s.ResumedAt = o.Attack.Last
	}
	if s.Revision == 0 {
		s.Revision = int(o.At.Unix()) // else an attack that was dropped and comes again would have the events of before
	}
	s.Revision++
	s.History = history(last.History, o)
	// Worse or new, and already over: that is one event, not two. A source that is still trying alone doesn't make an
	// attack resume.
	hitSince := o.Attack.Last.After(last.Attack.Last)
	s.Quiet = o.Silent() || last.Quiet && !hitSince
	s.Paused = !s.Quiet && (o.Pauses(s) || last.Paused && !hitSince) // by the window that the next poll goes by
	return s
}

// stopsLatest is how old the figures of what was stopped get on a card while they grow: they are lower bounds, so older
// ones are no lie.
const stopsLatest = 5 * time.Minute

// ShowsStops reports whether a card is to show what was stopped since: the first of it at once, and again when it
// doubled, or after a while.
func ShowsStops(last record.AttackState, now *record.Stopped, at time.Time) bool {
	before, age := last.Stopped, at.Sub(last.ObservedAt)
	switch {
	case last.Quiet || !now.Last().After(before.Last()):
		return false
	case before.Last().IsZero():
		return true
	case age < RedrawAfter:
		return false
	}
	sinceHit := !before.Last().After(last.Attack.Last) // the first since a hit got through
	return sinceHit || now.Tries() >= 2*before.Tries() || age >= stopsLatest
}

// Differs reports whether a card with then's figures is stale. Fewer hits, sources or payloads than before are an
// effect of sampling.
func Differs(then, now apiclient.Attack) bool {
	before, _ := then.Answered() // the code of an answer other than an error; 0: none is known
	after, _ := now.Answered()
	return rose(then.Hits, now.Hits) || rose(then.SourceCount, now.SourceCount) || rose(then.Payloads, now.Payloads) ||
		now.Last.After(then.Last) || now.Status() != then.Status() || now.FalsePositive() != then.FalsePositive() ||
		topSource(now) != topSource(then) ||
		after != before
}

// Turns reports whether newer figures change what the card says first. They must not wait behind those that merely
// grew.
func Turns(then, now record.AttackState) bool {
	return now.Attack.Status() != then.Attack.Status() || now.Attack.FalsePositive() != then.Attack.FalsePositive() ||
		now.Paused != then.Paused
}

func rose(then, now apiclient.Figure) bool {
	return now.Known && (!then.Known || now.N > then.N)
}

// Doubled reports whether a figure is at least twice what it was.
func Doubled(then, now apiclient.Figure) bool {
	return then.Known && now.Known && now.N > then.N && now.N/2 >= then.N
}

func topSource(a apiclient.Attack) netip.Addr {
	if len(a.Sources) == 0 {
		return netip.Addr{}
	}
	return a.Sources[0].IP
}

// leastWorse are the hits from which ten times as many as at the last mention is worse.
const leastWorse = 1000

// Worsened reports whether more is let through than before, or ten times as much comes.
func Worsened(b record.Baseline, a apiclient.Attack) bool {
	before, known := b.Status.PassRank()
	now, nowKnown := a.Status().PassRank()
	if known && nowKnown && now > before {
		return true
	}
	return b.Hits.Known && a.Hits.Known && a.Hits.N >= leastWorse && a.Hits.N/10 >= b.Hits.N
}

// Mentions reports whether an attack's event mentions people: one of newer figures, or of its end, doesn't.
func Mentions(kind record.EventKind) bool { return kind != record.Grew && kind != record.WentQuiet }

// Raised is the baseline after an observation, and after its event if kind is set.
func Raised(b record.Baseline, a apiclient.Attack, kind record.EventKind) record.Baseline {
	if a.Hits.Known && (Mentions(kind) || !b.Hits.Known) {
		b.Hits = a.Hits
	}
	if _, known := a.Status().PassRank(); known {
		b.Status = a.Status()
	}
	b.Incident = b.Incident || a.Incident()
	return b
}

// maxHistory is how many points are kept of an attack's hits.
const maxHistory = 30

// history adds an observation to the history of an attack's hits, which begins with none at its first hit.
func history(points []record.HitPoint, o Observation) []record.HitPoint {
	a := o.Attack
	if !a.Hits.Known || a.Last.IsZero() {
		return points
	}
	points = slices.Clone(points)
	if len(points) == 0 && !a.First.IsZero() && a.First.Before(a.Last) {
		points = append(points, record.HitPoint{At: a.First.Unix()})
	}
	points = extend(points, record.HitPoint{At: a.Last.Unix(), Hits: a.Hits.N})
	if o.Silent() {
		points = extend(points, record.HitPoint{At: o.At.Unix(), Hits: a.Hits.N}) // when it resumes, its hits aren't spread over the pause
	}
	if len(points) > maxHistory {
		points = thin(points)
	}
	return points
}

// extend adds a point. Fewer hits than before are an effect of sampling.
func extend(points []record.HitPoint, p record.HitPoint) []record.HitPoint {
	if len(points) == 0 {
		return append(points, p)
	}
	last := &points[len(points)-1]
	p.Hits = max(p.Hits, last.Hits)
	if p.At <= last.At {
		last.Hits = p.Hits
		return points
	}
	return append(points, p)
}

// thin leaves out every second point but the first and the last: older hits get coarser, and stay true.
func thin(points []record.HitPoint) []record.HitPoint {
	last := points[len(points)-1]
	var thinned []record.HitPoint
	for pair := range slices.Chunk(points[:len(points)-1], 2) {
		thinned = append(thinned, pair[0])
	}
	return append(thinned, last)
}
