package commands

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func audit() *Command {
	return &Command{
		Name: "audit", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "who did what, when, and what was refused",
		Args: []Arg{
			{Name: "what", Object: true, Help: "export: as JSON lines, at the terminal; verify: whether it is whole; left out: a list", Read: oneOf("export", "verify")},
			{Name: "since", Help: "how far back: 24h", Read: readDuration},
			{Name: "by", Help: "@me, a mention, or a part of a name or id"},
			argPage,
		},
		Read: readAudit, ReadTrail: readWholeAudit,
	}
}

// AuditTrail gives the audit log entry by entry, for those who read all of it.
type AuditTrail interface {
	// Trail are the account's entries since then, the oldest first. One that can't be read comes with its number, if that can be, and
	// record.ErrBadEntry; after another error there are no more.
	Trail(ctx context.Context, account string, since time.Time) iter.Seq2[record.AuditEntry, error]
	// Audited is the number of the account's last entry; 0 if there never was one.
	Audited(ctx context.Context, account string) (int64, error)
}

// readWholeAudit exports or verifies the log.
func readWholeAudit(ctx context.Context, c *Call, log AuditTrail) (Result, error) {
	if slices.Contains(c.Line.Words, "verify") {
		return c.verifyAudit(ctx, log)
	}
	from, err := c.auditedSince(grammar.Never)
	if err != nil {
		return Result{}, err
	}
	return c.exportAudit(ctx, log, from), nil
}

func readAudit(c *Call) (Result, error) {
	from, err := c.auditedSince(24 * time.Hour)
	if err != nil {
		return Result{}, err
	}
	by := c.auditedUser()
	res := Result{Account: c.onlyAccount()}
	data, pages := []record.AuditEntry{}, c.pages(len(c.All))
	for _, a := range c.All {
		entries, err := c.facts(a.Name).Audit(from)
		if err != nil {
			return Result{}, auditAway(err)
		}
		entries = slices.DeleteFunc(entries, func(e record.AuditEntry) bool { return !e.IsBy(by) })
		data = append(data, entries...)
		res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": ", text.Count(len(entries), "entry")))
		res.Lines = append(res.Lines, pages.part(len(entries), func(i int) text.Text { return auditLine(entries[i]) })...)
	}
	res.Data = data
	return pages.finish(res)
}

func auditAway(err error) error {
	if errors.Is(err, record.ErrBadEntry) {
		return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("an entry of the audit log can't be read. ", text.Code("audit verify"), " tells which; at the terminal ", text.Code("wafbot audit export"), " gives the others")}
	}
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("wafbot's store (Redis) can't be reached, and the audit log is in it. The same lines are on wafbot's standard output")}
}

// auditedSince is from when on entries are wanted, if nothing is said from so long ago on; zero: all that are kept.
func (c *Call) auditedSince(back time.Duration) (time.Time, error) {
	if since := c.Line.Keys["since"]; since != "" {
		var err error
		if back, err = grammar.ParseDuration(since); err != nil {
			return time.Time{}, err
		}
	}
	if back == grammar.Never {
		return time.Time{}, nil
	}
	return c.Now.Add(-back), nil
}

// auditedUser is what the name or id of those must hold whose entries are wanted, in lower case; "" for everybody's.
func (c *Call) auditedUser() string {
	by := c.Line.Keys["by"]
	if user, err := readUser(by, nil); err == nil {
		by = user
	}
	if by == me {
		by = c.Actor.ID
	}
	return strings.ToLower(strings.TrimPrefix(by, "@"))
}

func auditLine(e record.AuditEntry) text.Text {
	line := text.New("#", e.N, " ", e.At, " ", e.Actor.Name, " (", string(e.Actor.Via), ") ", text.Code(text.Sanitize(e.Line, 200)), ": ", text.Bold(e.Outcome))
	if e.Change != "" {
		line = text.New(line, " ", text.Code(e.Change))
	}
	if !strings.Contains(e.Line, e.Request) {
		line = text.New(line, " ", text.Code(e.Request))
	}
	if e.Approved != nil {
		line = text.New(line, ", approved by ", text.Sanitize(e.Approved.Name, text.MaxField))
	}
	if e.Why != "" {
		line = text.New(line, ", ", text.Sanitize(strings.ReplaceAll(e.Why, "\n", " "), 200))
	}
	return line
}
