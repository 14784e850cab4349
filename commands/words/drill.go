package words

import (
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Drill says of each test card of a drill who acknowledged it, and what the drill didn't try. It mentions no one.
func Drill(d record.Drill, now time.Time) []text.Text {
	asker := text.Field(d.By.Name)
	lines := []text.Text{text.Lead("Drill of "+d.Account, ", asked for by ", asker, " at ", d.At)}
	nobody, pagers := text.Lead("nobody acknowledged it within "+text.Duration(record.DrillFor)), 0
	if d.Waits(now) {
		nobody = text.New("nobody has acknowledged it yet")
	}
	for _, c := range d.Cards {
		line := text.New("• ", text.Channel(c.Channel))
		if c.Mention != "" {
			line = text.New(line, " (mentions ", text.Code(c.Mention), ")")
		}
		if c.Pager != "" {
			pagers++
			line = text.New(line, map[bool]string{true: ", its pager is called", false: ", its pager is not called"}[d.Page])
		}
		if c.By == nil {
			lines = append(lines, text.New(line, ": ", nobody))
			continue
		}
		who := text.Bold(text.Field(c.By.Name))
		lines = append(lines, text.New(line, ": acknowledged by ", who, " after ", text.Duration(c.After)))
	}
	left := text.Lead("Not tried: ", "denying and undoing, approval, storms")
	switch {
	case pagers == 0:
		left = text.New(left, ", and a pager: no route has one")
	case d.Page:
		lines = append(lines, text.New("If a pager can't be called, a message in the account's channel says so"))
	default:
		left = text.New(left, ", and the pager: ", text.Code("drill page=yes"), " calls it for real")
	}
	return append(lines, left)
}
