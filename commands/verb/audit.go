package verb

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func audit() *call.Command {
	return command(`audit: viewer
who did what, when, and what was refused
[WHAT]: export: as JSON lines, at the terminal; left out: a list
[since=]: how far back: 24h
[by=]: @me, a mention, or a part of a name or id
[page=]
[--all]
Example: audit since=24h by=@me`, call.Command{
		AnyAccount: true,
		Needs: call.Rounds{func(c *call.Call) call.Needs {
			from, err := report.AuditFrom(c, auditBack)
			if err != nil {
				return call.Needs{}
			}
			return call.Needs{Audit: record.Later(from, call.Ever)}
		}},
		Read:      readAudit,
		ReadTrail: report.ExportAudit,
	})
}

// auditBack is how far back the log is shown where the line doesn't say.
const auditBack = 24 * time.Hour

// auditOf is what the log of an account has for a line.
type auditOf struct {
	account string
	entries []record.AuditEntry
}

func readAudit(c *call.Call) (call.Result, error) {
	by, logs, data := report.AuditUser(c), make([]auditOf, len(c.InScope)), []record.AuditEntry{}
	var failed error
	for i, a := range c.InScope {
		if _, err := report.AuditFrom(c, auditBack); err != nil {
			return call.Result{}, err
		}
		entries, err := c.FactsOf(a.Name).Audit.Get()
		failed = cmp.Or(failed, err)
		entries = slices.DeleteFunc(entries, func(e record.AuditEntry) bool { return !e.IsBy(by) })
		logs[i], data = auditOf{a.Name, entries}, append(data, entries...)
	}
	if failed != nil {
		return call.Result{}, report.AuditUnknown(failed)
	}
	res, pages := call.Result{Account: c.OnlyAccount(), Data: data}, call.Pages(c, len(logs))
	if report.Together(c) {
		pages = call.Pages(c, 1)
		res.Lines = auditTogether(logs, data, pages)
		return pages.Finish(res)
	}
	for _, log := range logs {
		head := text.Lead(log.account, ": ", text.Count(len(log.entries), "entry"))
		res.Lines = append(res.Lines, head)
		res.Lines = append(res.Lines, pages.Table(auditTitles(), len(log.entries), func(i int) text.Text { return words.AuditEntry(log.entries[i]) })...)
	}
	return pages.Finish(res)
}

func auditTitles() []string { return []string{"NO.", "WHEN", "WHO", "LINE", "OUTCOME"} }

// auditTogether are the logs of many accounts as one, the newest entry first.
func auditTogether(logs []auditOf, all []record.AuditEntry, pages *call.Pager) []text.Text {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y record.AuditEntry) int { return y.At.Compare(x.At) })
	with := 0
	for _, log := range logs {
		with += min(1, len(log.entries))
	}
	head := text.Lead(text.Count(len(all), "entry"), ", in ", text.Number(with), " of ", text.Count(len(logs), "account"))
	return append([]text.Text{head}, pages.Table(append([]string{"ACCOUNT"}, auditTitles()...), len(all), func(i int) text.Text {
		return report.OfAccount(all[i].Account, words.AuditEntry(all[i]))
	})...)
}
