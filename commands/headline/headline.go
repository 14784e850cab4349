// Package headline says what state an attack or storm is in, by what is observed, and how severe it is.
package headline

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
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
	Resumed  time.Time       // hits came again after it had been quiet, mitigated or ended, and still do; zero: they didn't
	Was      State           // with Unknown in an outage: the state before
	Severity record.Severity // the worst that it reached; only a verdict lowers it
	Incident bool
	Review   bool // an incident without a verdict is never green: Mitigated reads STOPPED and Ended reads ENDED, REVIEW
}

// Of is the headline of an attack or storm. Its State is not asked again: whatever is said beside it follows from the
// same facts.
func Of(s call.Situation) Headline {
	if s.Storm != nil {
		return storm(s)
	}
	h := Headline{State: state(s), Severity: s.Triage.Severity(record.Worst(s.Severity, record.SeverityOf(s.Attack))), Incident: s.Attack.Incident()}
	h.Review = h.Incident && s.Triage.Verdict == nil
	switch h.State {
	case FalsePositive:
		h.Severity = record.SeverityLow
	case Ended, Mitigated, Quiet:
		h.Since = s.Attack.Last
	case Unknown:
		if h.Since = s.Outage.From; outage(s) {
			s.Outage = record.Outage{}
			h.Was = state(s)
		}
		h.Resumed = s.ResumedAt
	default:
		h.Resumed = s.ResumedAt
	}
	return h
}

func state(s call.Situation) State {
	switch status := s.Attack.Status(); {
	case outage(s):
		return Unknown
	case s.Attack.FalsePositive() || verdict(s, "false_positive"):
		return FalsePositive
	case verdict(s, "test"):
		return Test
	case s.Quiet:
		return Ended
	case status == apiclient.StatusUnknown:
		return Unknown
	case status == apiclient.StatusBlocked:
		return Blocked
	case s.Paused && proven(s):
		return Mitigated
	case s.Paused:
		return Quiet
	case status == apiclient.StatusPartly || slices.ContainsFunc(efficacy.Mitigations(s), record.Mitigation.Works):
		return PartlyBlocked
	}
	return NotBlocked
}

// outage reports whether it isn't known what goes on. One that is over was so before: its card says when it was hit
// last.
func outage(s call.Situation) bool { return !s.Outage.From.IsZero() && !s.Quiet }

func verdict(s call.Situation, is string) bool {
	return s.Triage.Verdict != nil && s.Triage.Verdict.Is == is
}

// proven reports whether mitigations stop all of an attack of which no hit is seen getting through: something was
// stopped since the last one did, and each source is covered, by a patch or mode that was seen to work, or by denials
// of sources that sent all hits. Counts are sampled: else its silence has another cause, as far as is known.
func proven(s call.Situation) bool {
	a, mitigations := s.Attack, efficacy.Mitigations(s)
	if slices.ContainsFunc(a.Sources, func(source apiclient.Source) bool { return efficacy.Allowed(s, source) }) {
		return false
	}
	ruled := slices.ContainsFunc(mitigations, func(m record.Mitigation) bool { return m.Rule && m.Works() && !a.Last.After(m.Last) })
	return ruled || s.Stopped.Last().After(a.Last) && deniesAll(a, mitigations)
}

// deniesAll reports whether the denied sources sent all of an attack's hits.
func deniesAll(a apiclient.Attack, mitigations []record.Mitigation) bool {
	left := a.Hits.N
	for _, source := range a.Sources {
		denies := func(m record.Mitigation) bool { return m.Finding != record.NotWorking && m.Denies(source) }
		if slices.ContainsFunc(mitigations, denies) {
			left -= source.Hits.N
		}
	}
	return a.Hits.Known && a.Hits.N > 0 && left <= 0
}
