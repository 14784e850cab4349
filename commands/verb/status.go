package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

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
	return pages.Finish(call.Result{Account: c.OnlyAccount(), Lines: append(lines, report.PartLines(parts, pages)...),
		Data: home.Accounts, Home: home})
}

func readIncidents(c *call.Call) (call.Result, error) {
	return report.ListAttacks(c, "incident", 24*time.Hour)
}

func readAttacks(c *call.Call) (call.Result, error) {
	if c.Line.Keys["storm"] != "" {
		return report.ListGrouped(c)
	}
	return report.ListAttacks(c, "attack", time.Hour)
}
