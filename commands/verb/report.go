package verb

import (
	"fmt"
	"strconv"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
