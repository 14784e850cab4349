package words

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AuditEntry is an audit entry in one line.
func AuditEntry(e record.AuditEntry) text.Text {
	line := text.Newf("#%v| |%v| |%v (%v)| |`%v`|: |*%v*",
		e.N, e.At, e.Actor.Name, string(e.Actor.Via), text.Sanitize(e.Line, 200), e.Outcome)
	if e.Change != "" {
		line.Addf(" `%v`", e.Change)
	}
	if !strings.Contains(e.Line, e.Request) {
		line.Addf(" `%v`", e.Request)
	}
	if e.Approved != nil {
		line.Addf(", approved by %v", text.Field(e.Approved.Name))
	}
	if e.Why != "" {
		line.Addf(", %v", text.Sanitize(strings.ReplaceAll(e.Why, "\n", " "), 200))
	}
	return line
}

// MuteScope is muted, as the grammar writes it.
func MuteScope(m record.Mute) string {
	what := "type=" + m.Type
	switch {
	case m.Attack != "":
		what = "attack=" + m.Attack
	case m.Source.IsValid():
		what = "source=" + grammar.RangeOf(m.Source).String()
	}
	if m.App != 0 {
		what += fmt.Sprintf(" app=%d", m.App)
	}
	return what
}

// Mute is a mute in one line: what, until when, by whom.
func Mute(m record.Mute) text.Text {
	return text.Newf("`%v` until %v, by %v `%v`", MuteScope(m), m.Until, text.Field(m.By.Name), m.ID)
}

// Outage says when an account was not watched, and why.
func Outage(s record.Outage) text.Text {
	words := text.Newf("*Not watched* from %v", s.From)
	if s.Until.IsZero() {
		words.Addf(", and still is")
	} else {
		words.Addf(" to %v (%v)", s.Until, text.Duration(s.Until.Sub(s.From)))
	}
	return text.New(words, ": ", cmp.Or(s.Why, "it was not running, as far as is known"))
}

// Protected is it in one line: what, whose, since when.
func Protected(p record.Protected) text.Text {
	line := text.Newf("`%v`| |*%v*|, |%v, by %v %v `%v`",
		grammar.RangeOf(p.Range).String(), policy.ProtectedSource(p).Name, policy.HowDenied(p.Deny), text.Field(p.By.Name),
		p.At, p.ID)
	if p.Reason != "" {
		line.Addf(": %v", text.Field(p.Reason))
	}
	return line
}

// Drill says of each test card of a drill who acknowledged it, and what the drill didn't try. It mentions no one.
func Drill(d record.Drill, now time.Time) text.Lines {
	asker := text.Field(d.By.Name)
	lines := text.Lines{text.Newf("*Drill of %v*, asked for by %v at %v", d.Account, asker, d.At)}
	nobody, pagers := text.Lead("nobody acknowledged it within "+text.Duration(record.DrillFor)), 0
	called := text.New(", its pager is not called")
	if d.Page {
		called = text.New(", its pager is called")
	}
	if d.Waits(now) {
		nobody = text.New("nobody has acknowledged it yet")
	}
	for _, c := range d.Cards {
		line := text.New("• ", text.Channel(c.Channel))
		if c.Mention != "" {
			line.Addf(" (mentions `%v`)", c.Mention)
		}
		if c.Pager != "" {
			pagers++
			line.Add(called)
		}
		if c.By == nil {
			lines.Addf("%v: %v", line, nobody)
		} else {
			lines.Addf("%v: acknowledged by *%v* after %v", line, text.Field(c.By.Name), text.Duration(c.After))
		}
	}
	left := text.Newf("*Not tried: *denying and undoing, approval, storms")
	switch {
	case pagers == 0:
		left.Addf(", and a pager: no route has one")
	case d.Page:
		lines.Addf("If a pager can't be called, a message in the account's channel says so")
	default:
		left.Addf(", and the pager: `drill page=yes` calls it for real")
	}
	return append(lines, left)
}
