package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
)

func readSummary(c *call.Call) (call.Result, error) {
	since, err := report.Since(c, report.Shift)
	if err != nil {
		return call.Result{}, err
	}
	s := report.Summarize(c, since)
	parts := s.Parts(c.Actor.Via != record.ViaCLI)
	return call.Result{Account: c.Account.Name, Lines: report.PartLines(parts, nil), Parts: parts, Data: s}, nil
}
