package headline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// urgent are the states by what a person should see first.
var urgent = []State{NotBlocked, Unknown, PartlyBlocked, Quiet, Mitigated, Blocked, Ended, Test, FalsePositive}

// UrgentFirst orders what goes on: what isn't known to be stopped by its severity, then the rest likewise.
func UrgentFirst(x, y Headline) int {
	stopped := func(h Headline) int { return max(0, slices.Index(urgent, h.State)-slices.Index(urgent, PartlyBlocked)) }
	return cmp.Or(stopped(x)-stopped(y), slices.Index(record.Severities(), x.Severity)-slices.Index(record.Severities(), y.Severity), slices.Index(urgent, x.State)-slices.Index(urgent, y.State))
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

// AttackRow is an attack that goes on as a row of a list, without what its attacker wrote; card leads to its card.
func AttackRow(s call.Situation, h Headline, card text.Text) text.Text {
	a, kind := s.Attack, " attack"
	if h.Incident {
		kind = " incident"
	}
	return text.New(card, text.Bold(h.Words()), " · ", h.Severity, kind, " · ", describe.TypeName(text.Field(a.Type)), " · ", s.Account.AppName(a.App), " · ",
		describe.Figure(a.Hits, "hit"), ", last ", describe.Ago(a.Last, s.Now))
}
