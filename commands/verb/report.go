package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func readReport(c *call.Call) (call.Result, error) {
	h := report.HistoryOf(c)
	res := call.Result{AttackID: h.ID, Account: h.Account, Data: h, Document: report.Markdown(c, h),
		Line: c.Line.With("account", h.Account)}
	switch {
	case c.Actor.Via == record.ViaCLI:
	case h.Storm != nil:
		res.Lines = text.Lines{words.StormLine(c.Account, *h.Storm, c.Now)}
	default:
		res.Lines = text.Lines{words.Attack(c.Account, h.Attack, c.Now)}
	}
	return res, nil
}
