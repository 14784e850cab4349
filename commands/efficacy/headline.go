package efficacy

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// Headline is what state an attack or storm is in, by what is observed, and how severe it is. Its State is not asked
// again: whatever is said beside it follows from the same facts.
func Headline(s call.Situation) words.Headline {
	if s.Storm != nil {
		return words.StormHeadline(s)
	}
	h := words.Headline{
		State: state(s), Severity: s.Triage.Severity(record.Worst(s.Severity, record.SeverityOf(s.Attack))),
		Incident: s.Attack.Incident(),
	}
	h.Review = h.Incident && s.Triage.Verdict == nil
	switch h.State {
	case words.FalsePositive:
		h.Severity = record.SeverityLow
	case words.Ended, words.Mitigated, words.Quiet:
		h.Since = s.Attack.Last
	default:
		h.Resumed = s.ResumedAt
	}
	if h.State == words.Unknown {
		h.Since = s.Outage.From
	}
	if s.Unwatched() {
		s.Outage = record.Outage{}
		h.Was = state(s)
	}
	return h
}

func state(s call.Situation) words.State {
	switch status := s.Attack.Status(); {
	case s.Unwatched():
		return words.Unknown
	case s.Attack.FalsePositive() || s.Triage.Found("false_positive"):
		return words.FalsePositive
	case s.Triage.Found("test"):
		return words.Test
	case s.Quiet:
		return words.Ended
	case status == apiclient.StatusUnknown:
		return words.Unknown
	case status == apiclient.StatusBlocked:
		return words.Blocked
	case s.Paused && proven(s):
		return words.Mitigated
	case s.Paused:
		return words.Quiet
	case status == apiclient.StatusPartly || slices.ContainsFunc(Mitigations(s), record.Mitigation.Works):
		return words.PartlyBlocked
	}
	return words.NotBlocked
}

// proven reports whether mitigations stop all of a paused attack. Something was stopped since its last hit, and a patch
// or mode that works covers every source, or the denied sources sent all hits. Counts are sampled, so its silence alone
// proves nothing.
func proven(s call.Situation) bool {
	a, mitigations := s.Attack, Mitigations(s)
	if slices.ContainsFunc(a.Sources, func(source apiclient.Source) bool { return Allowed(s, source) }) {
		return false
	}
	ruled := slices.ContainsFunc(mitigations, func(m record.Mitigation) bool {
		return m.Rule && m.Works() && !a.Last.After(m.Last)
	})
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
