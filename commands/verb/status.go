package verb

import (
	"cmp"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
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
	from, err := report.Since(c, report.Shift)
	if err != nil {
		return call.Result{}, err
	}
	s := report.Summarize(c, from)
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
	pages, pager := text.DocumentPages(words), call.Pages(c, 1)
	res.Document = pager.Document(pages)
	res.Lines = []text.Text{describe.Attack(c.Account, h.Attack, c.Now)}
	if h.Storm != nil {
		res.Lines = []text.Text{describe.Storm(c.Account, *h.Storm, c.Now)}
	}
	which := text.New("The report as Markdown, to be copied")
	if len(pages) > 1 {
		page := cmp.Or(c.Line.Keys["page"], "1")
		which = text.New(which, ": page ", page, " of ", len(pages), ". At the terminal it comes in one piece: ", text.Code("wafbot report attack="+h.ID))
	}
	return pager.Finish(res.And(which))
}
