package report

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/text"
)

// Overviews are those of all accounts that the call is about. One whose service hangs keeps nothing of what wafbot remembers from anybody.
func Overviews(c *call.Call) []Overview {
	all := make([]Overview, len(c.InScope))
	for i, a := range c.InScope {
		attacks, err := c.Facts(a.Name).Attacks(apiclient.AttackFilter{From: OngoingFrom(c, a)})
		all[i], _ = overviewOf(c, a, attacks, err)
	}
	return all
}

// StatusLines are an account's overview as lines.
func StatusLines(c *call.Call, pages *call.Pager, o Overview) []text.Text {
	lines := []text.Text{o.ongoingHead()}
	for _, row := range o.Storms {
		lines = append(lines, text.New("• ", o.stormRow(row, c.Now)))
	}
	if len(o.Ongoing) > 0 {
		lines = append(lines, pages.Part(len(o.Ongoing), func(i int) text.Text { return o.attackLine(o.Ongoing[i], c.Now) })...)
	}
	desk := o.peopleLines()
	lines = append(lines, pages.Part(len(desk), func(i int) text.Text { return desk[i] })...)
	lines = append(lines, o.troubleLines(c.Now)...)
	lines = append(lines, o.inForceHead())
	return append(lines, pages.Part(len(o.InForce), func(i int) text.Text { return o.changeLine(o.InForce[i], c.Now) })...)
}
