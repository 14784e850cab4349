package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func summary() *call.Command {
	return &call.Command{
		Name: "summary", Role: record.Viewer,
		Summary: "hand over: what goes on, what is in force and until when, and what happened",
		Args:    []call.Arg{{Name: "since", Help: "how far back: 10h", Read: call.ReadDuration}},
		Example: "summary since=12h",
		Needs:   report.Needs(),
		Read:    readSummary,
	}
}

func readSummary(c *call.Call) (call.Result, error) {
	back := report.Shift
	if since := c.Line.Keys["since"]; since != "" {
		var err error
		if back, err = grammar.ParseDuration(since); err != nil {
			return call.Result{}, err
		}
		if back == grammar.Never {
			return call.Result{}, refusal.Usage(text.New(text.Code("since="), " needs an end: ", text.Code("12h")))
		}
	}
	s := report.Summarize(c, c.Now.Add(-back))
	parts := s.Parts(c.Actor.Via != record.ViaCLI)
	return call.Result{Account: c.Account.Name, Lines: report.PartLines(parts, nil), Parts: parts, Data: s}, nil
}
