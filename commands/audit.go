package commands

import (
	"context"
	"slices"
	"strings"
	"time"
)

func audit() *Command {
	return &Command{
		Name: "audit", Role: Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "who did what, when, and what was refused",
		Args: []Arg{
			{Name: "since", Help: "how far back: 24h", Read: readDuration},
			{Name: "by", Help: "@me, a mention, or a part of a name or id"},
			argPage,
		},
		Read: readAudit,
	}
}

func readAudit(ctx context.Context, c *Call) (Result, error) {
	back := 24 * time.Hour
	if since := c.Line.Keys["since"]; since != "" {
		d, err := parseDuration(since)
		if err != nil {
			return Result{}, err
		}
		back = d
	}
	from := c.Now.Add(-back)
	if back == never {
		from = time.Time{}
	}
	by := c.auditedUser()
	res := Result{Account: c.onlyAccount()}
	data, pages := []AuditEntry{}, c.pages(len(c.All))
	for _, a := range c.All {
		entries, err := c.cfg.Audit.Entries(ctx, a.Name, from)
		if err != nil {
			return Result{}, &Refusal{Kind: ErrAway, Cause: err, Text: Say("wafbot's memory (Redis) can't be reached, and the audit log is in it. The same lines are on wafbot's standard output")}
		}
		entries = slices.DeleteFunc(entries, func(e AuditEntry) bool {
			return by != "" && !strings.Contains(strings.ToLower(e.Actor.Name+" "+e.Actor.ID), by)
		})
		data = append(data, entries...)
		res.Lines = append(res.Lines, Say(Bold(a.Name), ": ", count(len(entries), "entry")))
		res.Lines = append(res.Lines, pages.part(len(entries), func(i int) Text { return auditLine(entries[i]) })...)
	}
	res.Data = data
	return pages.finish(res)
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
	return strings.ToLower(by)
}

func auditLine(e AuditEntry) Text {
	line := Say("#", e.N, " ", e.At, " ", e.Actor.Name, " (", string(e.Actor.Via), ") ", Code(Visible(e.Line, 200)), ": ", Bold(e.Outcome))
	if e.Change != "" {
		line = Say(line, " ", Code(e.Change))
	}
	if e.Why != "" {
		line = Say(line, ", ", Visible(strings.ReplaceAll(e.Why, "\n", " "), 200))
	}
	return line
}
