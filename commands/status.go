package commands

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func status() *Command {
	return &Command{
		Name: "status", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "what goes on now, who is on it, what waits, and what is in force",
		Args:    []Arg{argPage},
		Needs:   overviewNeeds(),
		Read:    readStatus,
	}
}

func readStatus(c *Call) (Result, error) {
	res := Result{Account: c.onlyAccount()}
	pages := c.pages(3 * len(c.All)) // what burns, what people have in hand, and what is in force
	all := c.overviews()
	for _, o := range all {
		res.Lines = append(res.Lines, c.statusLines(pages, o)...)
	}
	home := &Home{Accounts: all, Who: c.Actor, Role: c.Role, Policy: c.Policy, Trouble: c.Policy.brokenSources(), Now: c.Now}
	res.Lines = append(res.Lines, home.Trouble...)
	res.Lines = append(res.Lines, text.New("wafbot is ", c.Policy.Describe()))
	res.Data, res.Home = all, home
	return pages.finish(res)
}

// overviews are those of all accounts that the call is about. One whose service hangs keeps nothing of what wafbot remembers from anybody.
func (c *Call) overviews() []Overview {
	all := make([]Overview, len(c.All))
	for i, a := range c.All {
		attacks, err := c.facts(a.Name).Attacks(apiclient.AttackFilter{From: c.burningFrom(a)})
		all[i], _ = c.picture(a, answered[apiclient.Attack]{attacks, err})
	}
	return all
}

func (c *Call) statusLines(pages *pager, o Overview) []text.Text {
	lines := []text.Text{o.burningHead()}
	for _, row := range o.Storms {
		lines = append(lines, text.New("• ", o.stormRow(row, c.Now)))
	}
	if len(o.Ongoing) > 0 {
		lines = append(lines, pages.part(len(o.Ongoing), func(i int) text.Text { return o.burningLine(o.Ongoing[i], c.Now) })...)
	}
	desk := o.deskLines()
	lines = append(lines, pages.part(len(desk), func(i int) text.Text { return desk[i] })...)
	lines = append(lines, o.troubleLines(c.Now)...)
	lines = append(lines, o.forceHead())
	return append(lines, pages.part(len(o.InForce), func(i int) text.Text { return o.forceLine(o.InForce[i], c.Now) })...)
}
