package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func status() *call.Command {
	return &call.Command{
		Name: "status", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "what goes on now, who is on it, what waits, and what is in force",
		Args:    []call.Arg{call.ArgPage},
		Needs:   report.Needs(),
		Read:    readStatus,
	}
}

func readStatus(c *call.Call) (call.Result, error) {
	res := call.Result{Account: c.OnlyAccount()}
	pages := call.Pages(c, 3*len(c.InScope)) // what goes on, what waits, and what is in force
	all := report.Overviews(c)
	for _, o := range all {
		res.Lines = append(res.Lines, report.StatusLines(c, pages, o)...)
	}
	home := &report.Home{Accounts: all, Who: c.Actor, Role: c.Role, Policy: c.Policy, Trouble: c.Policy.BrokenSources(), Now: c.Now}
	res.Lines = append(res.Lines, home.Trouble...)
	res.Lines = append(res.Lines, text.New("wafbot is ", c.Policy.Describe()))
	res.Data, res.Home = all, home
	return pages.Finish(res)
}
