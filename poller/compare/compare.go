// Package compare decides whether an attack that was read differs from what people were notified of, and how: pure functions of the stored state
// and one observation.
package compare

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// RedrawAfter is how old a card's figures get before a mere change of them is an event: one edit a minute and card.
const RedrawAfter = time.Minute

// Observation is an attack as it is now, with all else that decides whether it is an event.
type Observation struct {
	Attack      apiclient.Attack
	At          time.Time     // on the service's clock
	StillTrying bool          // a source of it is denied and goes on
	OngoingFor  time.Duration // after its last hit it is ongoing this long
	Routed      bool          // a route has a card for it
	Muted       func() bool   // asked only where there would be an event; nil: it isn't
}

// Silent reports whether the attack is over, as far as can be seen. One without a readable last hit never is.
func (o Observation) Silent() bool {
	return !o.StillTrying && !o.Attack.Last.IsZero() && o.At.Sub(o.Attack.Last) >= o.OngoingFor
}

// Event names the kind of event that an observation is, "" if it is none, given the last state of the attack (if it is known). The same observation
// again is none. suppressed tells that it is none because the attack is muted.
func Event(last record.AttackState, known bool, o Observation) (kind record.EventKind, suppressed bool) {
	kind = unmuted(last, known, o)
	if kind != "" && o.Muted != nil && o.Muted() {
		return "", true
	}
	return kind, false
}

// unmuted is the kind of event that an observation is if the attack isn't muted.
func unmuted(last record.AttackState, known bool, o Observation) record.EventKind {
	a := o.Attack
	hitSince := a.Last.After(last.Attack.Last)
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
	case last.Quiet && hitSince && !o.Silent():
		return record.Resumed
	case !last.Quiet && o.Silent():
		return record.WentQuiet
	case last.Rebuilt:
		return record.Grew // its card is as old as its last redraw was, or older
	case Doubled(last.Attack.Hits, a.Hits) || o.At.Sub(last.ObservedAt) >= RedrawAfter && (Differs(last.Attack, a) || ShowsHits(last)):
		return record.Grew // or no hit came in the last minute
	}
	return ""
}

// ShowsHits reports whether hits came in the minute before the attack's card was drawn: the card says so until it is redrawn.
func ShowsHits(s record.AttackState) bool {
	return !s.Quiet && s.ObservedAt.Sub(s.Attack.Last) < RedrawAfter
}

// FiguresAt is when the figures of the attack's card were read, or found unchanged: a good poll that late would have made an event of a change.
// Muted attacks and false positives have no events.
func FiguresAt(s record.AttackState, good time.Time, muted bool) time.Time {
	if !muted && !s.Attack.FalsePositive() && !s.ObservedAt.IsZero() && good.Sub(s.ObservedAt) >= RedrawAfter {
		return good
	}
	return s.ObservedAt
}

// appeared decides about an attack without a card. One that is known and over needs a sign of life to get one now: otherwise the second poll would
// make events of all old attacks that the first start left out.
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
	if kind == "" {
		return s
	}
	s.Notified = true
	s.Revision++
	s.History = history(last.History, o)
	// Worse or new, and already over: that is one event, not two. A source that is still trying alone doesn't make an attack resume.
	s.Quiet = o.Silent() || last.Quiet && !o.Attack.Last.After(last.Attack.Last)
	return s
}

// Differs reports whether a card with then's figures is stale. Fewer hits, sources or payloads than before are an effect of sampling.
func Differs(then, now apiclient.Attack) bool {
	return rose(then.Hits, now.Hits) || rose(then.SourceCount, now.SourceCount) || rose(then.Payloads, now.Payloads) ||
		now.Last.After(then.Last) || now.Status() != then.Status() || now.FalsePositive() != then.FalsePositive() || topSource(now) != topSource(then)
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
