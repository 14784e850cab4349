package verb

import (
	"fmt"
	"strconv"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
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
	return call.Result{Account: c.Account.Name, Lines: report.PartLines(parts), Parts: parts, Data: s}, nil
}

func reportCommand() *call.Command {
	return &call.Command{
		Name: "report", Role: record.Viewer, Past: true,
		Summary: "what happened in an attack and what was done, to be copied as Markdown",
		Args:    []call.Arg{argAttack, call.ArgPage},
		Read:    readReport,
	}
}

func readReport(c *call.Call) (call.Result, error) {
	h := report.HistoryOf(c)
	words := report.Markdown(c, h)
	res := call.Result{AttackID: h.ID, Account: h.Account, Data: h, Document: words}
	if c.Actor.Via == record.ViaCLI {
		return res, nil
	}
	pages := text.DocumentPages(words)
	page := 1
	if n, err := strconv.Atoi(c.Line.Keys["page"]); err == nil {
		page = n
	}
	if page > len(pages) {
		return call.Result{}, refusal.Usage(text.New("there is no page ", page, ": the last one is ", len(pages)))
	}
	res.Document = pages[page-1]
	res.Lines = []text.Text{describe.Attack(c.Account, h.Attack, c.Now)}
	if h.Storm != nil {
		res.Lines = []text.Text{describe.Storm(c.Account, *h.Storm, c.Now)}
	}
	if page < len(pages) {
		next := c.Line.With("page", strconv.Itoa(page+1)).With("account", h.Account)
		res.Next = &next
	}
	which := "The report as Markdown, to be copied"
	if len(pages) > 1 {
		which = fmt.Sprintf("The report as Markdown, to be copied: page %d of %d. At the terminal it comes in one piece: ", page, len(pages))
		return res.And(text.New(which, text.Code("wafbot report attack="+h.ID))), nil
	}
	return res.And(text.New(which)), nil
}
