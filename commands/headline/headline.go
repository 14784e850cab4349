// Package headline says what state an attack or storm is in, by what is observed, and how severe it is.
package headline

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// State is what an attack's card says first.
type State string

// The states, the first that holds counts.
const (
	Unknown       State = "unknown" // the service can't be read, or gives no blocking status
	FalsePositive State = "false_positive"
	Test          State = "test"
	Ended         State = "ended"
	Blocked       State = "blocked"   // all hits were, says the service
	Mitigated     State = "mitigated" // mitigations are seen to stop all of it
	Quiet         State = "quiet"     // nothing is seen getting through; why isn't proven
	PartlyBlocked State = "partly_blocked"
	NotBlocked    State = "not_blocked"
)

// Headline is what a card says first.
type Headline struct {
	State    State
	Since    time.Time       // on the service's clock; zero: not known, or it was always so
	Resumed  time.Time       // hits came again after it had been quiet, mitigated or ended; zero: they didn't
	Was      State           // with Unknown: the state before
	Severity record.Severity // the worst that it reached; only a verdict lowers it
	Incident bool            // never green before a verdict: Mitigated reads STOPPED and Ended reads ENDED, REVIEW
}

// Facts are what a headline follows from.
type Facts struct {
	Situation call.Situation
	Quiet     bool          // no hit for as long as an attack goes on
	Outage    record.Outage // in which the service can't be read; zero: it can
	Triage    record.Triage
}

// Of is the headline of an attack or storm.
func Of(f Facts) Headline {
	if f.Situation.Storm != nil {
		return f.storm()
	}
	a := f.Situation.Attack
	h := Headline{Severity: record.SeverityOf(a), Incident: a.Incident()}
	h.State = f.state()
	switch h.State {
	case Unknown:
		h.Since = f.Outage.From
	case Ended:
		h.Since = a.Last
	}
	return h
}

func (f Facts) state() State {
	a := f.Situation.Attack
	switch {
	case !f.Outage.From.IsZero() && !f.Quiet:
		return Unknown
	case a.FalsePositive() || f.verdict("false_positive"):
		return FalsePositive
	case f.verdict("test"):
		return Test
	case f.Quiet:
		return Ended
	}
	switch a.Status() {
	case apiclient.StatusBlocked:
		return Blocked
	case apiclient.StatusPartly:
		return PartlyBlocked
	case apiclient.StatusNotBlocked:
		return NotBlocked
	}
	return Unknown
}

func (f Facts) verdict(is string) bool { return f.Triage.Verdict != nil && f.Triage.Verdict.Is == is }
