package card

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// mitigation is a line about what was done: a sign, and words that say the same.
type mitigation struct {
	sign  string
	does  string
	says  string
	until time.Time // zero: that doesn't matter
	by    string
}

// The signs.
const (
	works   = "✅"
	partly  = "🔶"
	fails   = "❌"
	pending = "⏳" // sent, or what it does isn't known
)

// maxDoes is how much of what a mitigation does is shown, in characters.
const maxDoes = 64

// madeBy is who made a mitigation.
func madeBy(m record.Mitigation) string {
	by := text.Sanitize(m.By, maxName)
	switch {
	case m.Change != "":
		return by
	case by == "":
		return "console"
	}
	return "console, " + by
}

// done are the mitigations of the attack, what isn't settled or was lost first.
func (c drawing) done() (all []mitigation) {
	s := c.Situation
	for _, ch := range slices.Backward(s.Changes) {
		m := mitigation{does: text.Sanitize(efficacy.Does(s, ch), maxDoes), by: text.Sanitize(ch.Actor.Name, maxName)}
		switch {
		case ch.Parent() != "":
			continue
		case ch.State == record.StateBegun && ch.Fault != "":
			m.sign, m.says = pending, "outcome unknown"
		case ch.State == record.StateBegun:
			m.sign, m.says = pending, "sent, being verified"
		case s.Efficacy[ch.ID].Finding == record.SourceReturned && ch.State == record.StateDone &&
			s.Now.Sub(ch.Until) < time.Hour:
			m.sign, m.says = fails, "ended, its source came back"
		case !ch.InForce(s.Now):
			continue
		case ch.State == record.StateHalf:
			m.sign, m.says = partly, "only partly done"
		case efficacy.Gone(s, ch):
			m.sign, m.says = fails, "removed at the WAF"
		default:
			continue
		}
		all = append(all, m)
	}
	for _, in := range efficacy.Mitigations(s) {
		i := record.IndexChange(s.Changes, in.Change)
		if i >= 0 && s.Changes[i].State == record.StateHalf {
			continue
		}
		if i < 0 && in.Finding == record.NotYet && !s.GoesOn {
			continue // what was made for others shows nothing of an attack that is over, and nothing would draw this again
		}
		m := mitigation{does: text.Sanitize(in.Does, maxDoes), until: in.Until, by: madeBy(in)}
		if !m.until.Before(apiclient.Forever) {
			m.until = time.Time{}
		}
		m.sign, m.says = seen(s, in)
		all = append(all, m)
	}
	return all
}

// seen says what is seen of a mitigation.
func seen(s call.Situation, m record.Mitigation) (sign, says string) {
	stopped := text.Number(m.Stopped) + "+ stopped"
	i := record.IndexChange(s.Changes, m.Change)
	if i >= 0 && s.Changes[i].Unseeable() != "" {
		return pending, "sent; whether it works can't be seen"
	}
	switch m.Finding {
	case record.Working:
		return works, "working, " + stopped
	case record.PartlyWorking:
		if m.Others > 0 {
			return works, "working, " + stopped + "; up to " + text.Count(m.Others, "other source") + " get through"
		}
		return partly, "partly working, " + stopped
	case record.NotWorking:
		return fails, "NOT working, cause not visible"
	case record.SourceReturned:
		return fails, "its source came back"
	case record.EfficacyUnknown:
		switch {
		case i < 0:
			return pending, "in force, effect unknown"
		case slices.ContainsFunc(s.Attack.Sources, s.Changes[i].Denies), s.Changes[i].CreatesRules():
			return pending, "unknown: nothing seen of it"
		}
		return pending, "unknown: not among the top sources any more"
	}
	switch {
	case i >= 0 && s.Changes[i].CreatesRules() && s.Now.Before(m.Due):
		return pending, "sent; up to 64 min"
	case s.Now.Before(m.Due):
		return pending, "sent; usually within 1 min"
	}
	return pending, "sent; nothing seen of it yet"
}

// mitigations are the lines of what was done, at most so many.
func (c drawing) mitigations(offered advice.Advice, done []mitigation, most int) (lines []line) {
	for i, m := range done[:min(most, len(done))] {
		var l line
		l.say("%v %v", m.sign, m.does)
		says, by := text.New(m.says), text.New(m.by)
		if m.sign == fails {
			says = text.Lead(m.says)
			if i == 0 && len(offered.Suggestions) > 0 && c.gettingThrough() {
				by.Addf(". Next: %v", offered.Suggestions[0].Label)
			}
		}
		l.say("%v", says)
		if !m.until.IsZero() && m.sign != fails {
			l.spare(spareTrend, "until %v", c.clock(m.until))
		}
		l.spare(spareWords, "%v", by)
		if left := len(done) - most; i == most-1 && left > 0 {
			l.say("%v more under Details", text.Number(left))
		}
		lines = append(lines, l)
	}
	return lines
}
