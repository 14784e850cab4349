package verb

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func audit() *call.Command {
	return &call.Command{
		Name: "audit", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "who did what, when, and what was refused",
		Args: []call.Arg{
			{Name: "what", Object: true, Help: "export: as JSON lines, at the terminal; verify: whether it is whole; left out: a list", Read: call.OneOf("word", "export", "verify")},
			{Name: "since", Help: "how far back: 24h", Read: call.ReadDuration, Bare: grammar.IsDuration},
			{Name: "by", Help: "@me, a mention, or a part of a name or id"},
			call.ArgPage,
		},
		Example: "audit since=24h by=@me",
		Read:    readAudit, ReadTrail: readWholeAudit,
	}
}

// readWholeAudit exports or verifies the log.
func readWholeAudit(ctx context.Context, c *call.Call, log call.AuditTrail) (call.Result, error) {
	if slices.Contains(c.Line.Words, "verify") {
		return report.VerifyAudit(c, ctx, log)
	}
	return report.ExportAudit(c, ctx, log), nil
}

func readAudit(c *call.Call) (call.Result, error) {
	by := report.AuditUser(c)
	res := call.Result{Account: c.OnlyAccount()}
	data, pages := []record.AuditEntry{}, call.Pages(c, len(c.InScope))
	for _, a := range c.InScope {
		from, err := report.AuditFrom(c.For(a), 24*time.Hour)
		if err != nil {
			return call.Result{}, err
		}
		entries, err := c.Facts(a.Name).Audit(from)
		if err != nil {
			return call.Result{}, report.AuditUnknown(err)
		}
		cut := c.AuditMost > 0 && len(entries) >= c.AuditMost
		entries = slices.DeleteFunc(entries, func(e record.AuditEntry) bool { return !e.IsBy(by) })
		data = append(data, entries...)
		head := text.New(text.Bold(a.Name), ": ", text.Count(len(entries), "entry"))
		if cut {
			head = text.New(head, ". Older ones are no longer kept (", text.Code("audit.max_entries"), ")")
		}
		res.Lines = append(res.Lines, head)
		res.Lines = append(res.Lines, pages.Table([]string{"NO.", "WHEN", "WHO", "LINE", "OUTCOME"}, len(entries), func(i int) text.Text { return describe.AuditEntry(entries[i]) })...)
	}
	res.Data = data
	return pages.Finish(res)
}
