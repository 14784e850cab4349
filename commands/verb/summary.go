package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
)

func summary() *call.Command {
	return &call.Command{
		Name: "summary", Role: record.Viewer,
		Summary: "hand over: what goes on, what is in force and until when, and what happened",
		Args:    []call.Arg{{Name: "since", Help: "how far back: 10h", Read: call.ReadDuration, Bare: grammar.IsDuration}},
		Example: "summary since=12h",
		Needs:   report.SummaryNeeds(),
		Read:    readSummary,
	}
}

func readSummary(c *call.Call) (call.Result, error) {
	since, err := report.Since(c, report.Shift)
	if err != nil {
		return call.Result{}, err
	}
	s := report.Summarize(c, since)
	parts := s.Parts(c.Actor.Via != record.ViaCLI)
	return call.Result{Account: c.Account.Name, Lines: report.PartLines(parts, nil), Parts: parts, Data: s}, nil
}
