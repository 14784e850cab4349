package words

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
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

// urgent are the states by what a person should see first.
var urgent = []State{NotBlocked, Unknown, PartlyBlocked, Quiet, Mitigated, Blocked, Ended, Test, FalsePositive}

// UrgentFirst orders ongoing attacks: first those not known to be stopped, then the rest, each by severity.
func UrgentFirst(x, y Headline) int {
	stopped := func(h Headline) int { return max(0, slices.Index(urgent, h.State)-slices.Index(urgent, PartlyBlocked)) }
	return cmp.Or(stopped(x)-stopped(y), slices.Index(record.Severities(), x.Severity)-slices.Index(record.Severities(),
		y.Severity), slices.Index(urgent, x.State)-slices.Index(urgent, y.State))
}

// Words is the state of an attack in words, without its time. An incident is never said to be over before a verdict.
func (h Headline) Words() string {
	switch {
	case h.Review && h.State == Mitigated:
		return "STOPPED"
	case h.Review && h.State == Ended:
		return "ENDED, REVIEW"
	}
	return strings.ToUpper(strings.ReplaceAll(string(h.State), "_", " "))
}

// AttackRow is an ongoing attack as a row of a list, without what its attacker wrote. card links to its card.
func AttackRow(s call.Situation, h Headline, card text.Text) text.Text {
	a, kind := s.Attack, " attack"
	if h.Incident {
		kind = " incident"
	}
	return text.Newf("%v*%v* · %v%v · %v · %v · %v, last %v",
		card, h.Words(), h.Severity, kind, TypeName(text.Field(a.Type)), s.Account.AppName(a.App), Figure(a.Hits, "hit"),
		Ago(a.Last, s.Now))
}

// StormHeadline is the headline of a storm. What gets through now decides, as far as it is known. A mitigation proves
// nothing about all of its attacks, so a storm that no longer gets through is quiet, never mitigated.
func StormHeadline(f call.Situation) Headline {
	s := *f.Storm
	h := Headline{Severity: cmp.Or(s.Severity, record.SeverityOf(f.Attack))}
	switch {
	case f.Unwatched():
		h.State, h.Since = Unknown, f.Outage.From
		f.Outage = record.Outage{}
		h.Was = StormHeadline(f).State
	case f.Triage.Found("false_positive") || s.FalsePositives >= s.Grouped && s.Grouped > 0:
		h.State = FalsePositive
	case f.Triage.Found("test"):
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
	return StormHeadline(call.Situation{Attack: row.Attack, Storm: &row.Storm, Quiet: row.Quiet, Outage: outage,
		Triage: row.Triage})
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
	line := text.Newf("`%v` %v*%v* · %v storm · %v · since %v: %v, %v",
		row.ID, CardLink(row.Card), StormState(h.State, s), h.Severity, Applications(s, a), s.Began, Counted(s), Active(s))
	if !s.GoesOn() {
		line.Addf(", no new ones since %v", s.Ended)
	}
	return text.Newf("%v, last hit %v. %v", line, Ago(row.Attack.Last, now), Cause(s, policy.Policy{}))
}

// Line is the attack or storm in one line, what its attacker wrote last.
func Line(s call.Situation, h Headline) text.Text {
	if s.Storm == nil {
		return text.Newf("%v · `%v`: `%v`%v", AttackRow(s, h, nil), s.ID, Where(s.Attack), Part(s.Attack))
	}
	row := call.StormRow{ID: s.ID, Attack: s.Attack, Storm: *s.Storm, Quiet: s.Storm.Ongoing+s.Storm.StillTrying == 0}
	return StormLine(s.Account, row, s.Now)
}
