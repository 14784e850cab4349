package poller

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// redrawAfter is how old a card's figures get at least before a mere change of them is news: one edit a minute and card.
const redrawAfter = time.Minute

// Look is an attack as it is now, with all else that decides whether it is news.
type Look struct {
	Attack     apiclient.Attack
	At         time.Time     // of the look, on the service's clock
	Knocking   bool          // one of its sources is denied and goes on trying
	OngoingFor time.Duration // after its last hit it is ongoing this long
	Routed     bool          // a route wants a card for it
	Muted      bool          // nobody wants to hear of it now; never an incident
}

// silent reports whether the attack is over, as far as can be seen. One without a readable last hit never is.
func (l Look) silent() bool {
	return !l.Knocking && !l.Attack.Last.IsZero() && l.At.Sub(l.Attack.Last) >= l.OngoingFor
}

// compare names the reason why an attack is news, if it is, given what was last decided about it (if it is known).
// A look that has been told is no news a second time.
func compare(last record.AttackState, known bool, look Look) (record.EventKind, bool) {
	a := look.Attack
	hitSince := a.Last.After(last.Attack.Last)
	switch {
	case a.Result() || look.Muted:
		return "", false // a muted one stays as it was told, so that nothing of it is lost
	case a.FalsePositive() && last.Notified && !last.Attack.FalsePositive():
		return record.Grew, true // its card says so, and nothing more as long as it is one
	case a.FalsePositive():
		return "", false
	case !last.Notified:
		return appeared(last, known, look)
	case a.Incident() && !last.Baseline.Incident:
		return record.BecameIncident, true
	case baselineExceeded(last.Baseline, a):
		return record.Worsened, true
	case last.Quiet && hitSince && !look.silent():
		return record.Resumed, true
	case !last.Quiet && look.silent():
		return record.WentQuiet, true
	case last.Rebuilt:
		return record.Grew, true // its card is as old as its last redraw was, or older
	case doubled(last.Attack.Hits, a.Hits) || look.At.Sub(last.ObservedAt) >= redrawAfter && (differs(last.Attack, a) || attackStateComing(last)):
		return record.Grew, true // or none came in the last minute
	}
	return "", false
}

// coming reports whether hits came in the minute before the attack's card was drawn, as it says until it is drawn again.
func attackStateComing(s record.AttackState) bool {
	return !s.Quiet && s.ObservedAt.Sub(s.Attack.Last) < redrawAfter
}

// FiguresAt is when the figures of the attack's card were read, or found unchanged: a good poll that late would else have made news of them.
// Of a muted attack there is no news, nor of a false positive.
func FiguresAt(s record.AttackState, good time.Time, muted bool) time.Time {
	if !muted && !s.Attack.FalsePositive() && !s.ObservedAt.IsZero() && good.Sub(s.ObservedAt) >= redrawAfter {
		return good
	}
	return s.ObservedAt
}

// appeared decides about an attack without a card. One that is known and over needs a sign of life to get one now:
// else a first start's old attacks would all be told by the second poll.
func appeared(last record.AttackState, known bool, look Look) (record.EventKind, bool) {
	a := look.Attack
	stirs := !known || !look.silent() || a.Last.After(last.Attack.Last) || rose(last.Attack.Hits, a.Hits) ||
		a.Incident() && !last.Baseline.Incident || baselineExceeded(last.Baseline, a)
	if !look.Routed || !stirs {
		return "", false
	}
	if a.Incident() {
		return record.NewIncident, true
	}
	return record.NewAttack, true
}

// after is what to remember of a look: reason is why it is told, "" when it is only seen.
func after(last record.AttackState, look Look, reason record.EventKind) record.AttackState {
	s := last
	s.Attack, s.ObservedAt, s.Rebuilt = look.Attack, look.At, false
	s.Baseline = baselineRaised(last.Baseline, look.Attack, reason)
	if reason == "" {
		return s
	}
	s.Notified = true
	s.Revision++
	s.History = alongside(last.History, look)
	// Worse or new, and over by now: that is one piece of news, not two. Knocking alone ends no quiet.
	s.Quiet = look.silent() || last.Quiet && !look.Attack.Last.After(last.Attack.Last)
	return s
}

// differs reports whether a card with then's figures is out of date. Fewer hits, sources or payloads than before are
// an effect of sampling.
func differs(then, now apiclient.Attack) bool {
	return rose(then.Hits, now.Hits) || rose(then.SourceCount, now.SourceCount) || rose(then.Payloads, now.Payloads) ||
		now.Last.After(then.Last) || now.Status() != then.Status() || now.FalsePositive() != then.FalsePositive() || topSource(now) != topSource(then)
}

func rose(then, now apiclient.Figure) bool {
	return now.Known && (!then.Known || now.N > then.N)
}

func doubled(then, now apiclient.Figure) bool {
	return then.Known && now.Known && now.N > then.N && now.N/2 >= then.N
}
