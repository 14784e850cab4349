package words

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
