package headline

import (
	"cmp"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// storm is the headline of a storm: what gets through now decides, as far as it is known. A mitigation proves nothing
// about all of its attacks, so a storm of which nothing gets through any more is quiet, and never mitigated.
func storm(f call.Situation) Headline {
	s := *f.Storm
	h := Headline{Severity: cmp.Or(s.Severity, record.SeverityOf(f.Attack))}
	switch {
	case outage(f):
		h.State, h.Since = Unknown, f.Outage.From
		f.Outage = record.Outage{}
		h.Was = storm(f).State
	case verdict(f, "false_positive") || s.FalsePositives >= s.Grouped && s.Grouped > 0:
		h.State = FalsePositive
	case verdict(f, "test"):
		h.State = Test
	case f.Quiet:
		h.State, h.Since = Ended, f.Attack.Last
	case s.Through[apiclient.StatusNotBlocked] > 0:
		h.State = NotBlocked
	case s.Through[apiclient.StatusPartly] > 0:
		h.State = PartlyBlocked
	case s.Through[apiclient.StatusUnknown] > 0:
		h.State = Unknown
	case s.LastThrough.IsZero():
		h.State = Blocked
	default:
		h.State, h.Since = Quiet, s.LastThrough
	}
	if h.State == FalsePositive || h.State == Test {
		h.Severity = record.SeverityLow
	}
	return h
}

// OfStorm is the headline of a storm as lists have it; outage is what keeps the service from being read, zero if
// nothing does.
func OfStorm(row call.StormRow, outage record.Outage) Headline {
	return Of(call.Situation{Attack: row.Attack, Storm: &row.Storm, Quiet: row.Quiet, Outage: outage, Triage: row.Triage})
}

// StormState is a state of a storm in words, without its time: "4 of 800 NOT BLOCKED".
func StormState(state State, s record.Storm) string {
	words, n := StormWords(state, s)
	if n == 0 {
		return words
	}
	return text.Number(n) + " of " + text.Number(s.Grouped) + " " + words
}

// StormWords is a state of a storm, and of how many of its attacks it is; 0: of the storm as a whole.
func StormWords(state State, s record.Storm) (words string, attacks int) {
	words = Headline{State: state}.Words()
	switch {
	case state == NotBlocked && s.Through[apiclient.StatusPartly] > 0:
		return "NOT FULLY BLOCKED", s.Passing()
	case state == NotBlocked, state == PartlyBlocked:
		return words, s.Passing()
	case state == Unknown:
		return words, s.Through[apiclient.StatusUnknown]
	}
	return words, 0
}

// StormLine is a storm in one line, with the way to its card where nothing is ever cut.
func StormLine(a *config.Account, row call.StormRow, now time.Time) text.Text {
	s, h := row.Storm, OfStorm(row, record.Outage{})
	line := text.New(text.Code(row.ID), " ", describe.CardLink(row.Card), text.Bold(StormState(h.State, s)), " · ", h.Severity, " storm · ", describe.Applications(s, a), " · since ", s.Began, ": ",
		describe.Counted(s), ", ", describe.Active(s))
	if !s.GoesOn() {
		line = text.New(line, ", no new ones since ", s.Ended)
	}
	return text.New(line, ", last hit ", describe.Ago(row.Attack.Last, now), ". ", describe.Cause(s, policy.Policy{}))
}

// Line is the attack or storm in one line, what its attacker wrote last.
func Line(s call.Situation, h Headline) text.Text {
	if s.Storm == nil {
		return text.New(AttackRow(s, h, nil), " · ", text.Code(s.ID), ": ", text.Code(describe.Where(s.Attack)), describe.Part(s.Attack))
	}
	row := call.StormRow{ID: s.ID, Attack: s.Attack, Storm: *s.Storm, Quiet: s.Storm.Ongoing+s.Storm.StillTrying == 0}
	return StormLine(s.Account, row, s.Now)
}
