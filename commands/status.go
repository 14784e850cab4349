package commands

import (
	"context"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func status() *Command {
	return &Command{
		Name: "status", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "what burns now, who is on it, what waits, and what is in force",
		Args:    []Arg{argPage},
		Read:    readStatus,
	}
}

func readStatus(ctx context.Context, c *Call) (Result, error) {
	res := Result{Account: c.onlyAccount()}
	pages := c.pages(3 * len(c.All)) // what burns, what people have in hand, and what is in force
	all := c.overviews(ctx)
	for _, o := range all {
		res.Lines = append(res.Lines, c.statusLines(pages, o)...)
	}
	home := &Home{Accounts: all, Who: c.Actor, Role: c.Role, Policy: c.cfg.Policy, Trouble: c.cfg.Policy.brokenSources(), Now: c.Now}
	res.Lines = append(res.Lines, home.Trouble...)
	res.Lines = append(res.Lines, text.New("wafbot is ", c.cfg.Policy.Describe()))
	res.Data, res.Home = all, home
	return pages.finish(res)
}

// overviews are those of all accounts that the call is about. One whose service hangs keeps nothing of what wafbot remembers from anybody.
func (c *Call) overviews(ctx context.Context) []Overview {
	found := sideBySide(ctx, c.All, func(look context.Context, a *Account) ([]Overview, error) {
		attacks, err := c.listAttacks(look, a, apiclient.AttackFilter{From: c.burningFrom(a)})
		o, _ := c.picture(ctx, a, answered[apiclient.Attack]{attacks, err})
		return []Overview{o}, nil
	})
	all := make([]Overview, len(found))
	for i, f := range found {
		all[i] = f.found[0]
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
