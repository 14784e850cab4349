package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

func status() *call.Command {
	return command(`status: viewer
what goes on now, who is on it, what waits, and what is in force
[page=]
[--all]`, call.Command{
		AnyAccount: true,
		Needs:      report.HomeNeeds(),
		Read:       readStatus,
	})
}

func readStatus(c *call.Call) (call.Result, error) {
	home := report.HomeOf(c)
	parts, listed := home.Parts(false), 0
	for _, p := range parts {
		listed += min(len(p.Rows), 1)
	}
	pages := call.Pages(c, listed)
	name := func(a *config.Account) text.Text { return text.New(a.Name) }
	of := text.Enumerate(c.InScope, call.ShortList, name)
	if report.Together(c) {
		of = text.New(text.Count(len(c.InScope), "account"))
	}
	lines := text.Lines{text.Newf("*Status* of %v. wafbot is %v", of, home.Policies())}
	return pages.Finish(call.Result{Account: c.OnlyAccount(), Lines: append(lines, report.PartLines(parts, pages)...), Data: home.Accounts, Home: home})
}
