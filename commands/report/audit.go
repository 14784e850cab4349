package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
)

// auditBack is how far back the log is shown where the line doesn't say.
const auditBack = 24 * time.Hour

// AuditNeeds are those of ShowAudit.
func AuditNeeds(c *call.Call) (n call.Needs) {
	if from, err := auditFrom(c, auditBack); err == nil {
		n.Audit = record.Later(from, call.Ever)
	}
	return n
}

// ShowAudit lists who did what, of all the accounts that the call is about.
func ShowAudit(c *call.Call) (call.Result, error) {
	by, data := auditUser(c), []record.AuditEntry{}
	l := lists{what: "entry", titles: []string{"NO.", "WHEN", "WHO", "LINE", "OUTCOME"}}
	_, failed := auditFrom(c, auditBack)
	for _, a := range c.InScope {
		list := listed{account: a.Name}
		entries, err := c.FactsOf(a.Name).Audit.Get()
		if err != nil {
			failed = cmp.Or(failed, auditUnknown(err))
		}
		for _, e := range entries {
			if e.IsBy(by) {
				data = append(data, e)
				list.rows = append(list.rows, row{a.Name, e.At, func() text.Text { return words.AuditEntry(e) }})
			}
		}
		l.of = append(l.of, list)
	}
	if failed != nil {
		return call.Result{}, failed
	}
	return l.answer(c, data)
}

// auditUnknown refuses because the audit log can't be read.
func auditUnknown(err error) error {
	words := text.New(refusal.Store(err), ", and the audit log is in it. The same lines are on wafbot's standard output")
	if errors.Is(err, record.ErrBadEntry) {
		words = text.Newf("an entry of the audit log can't be read. At the terminal `wafbot audit export` names it, and gives the others")
	}
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: words}
}

// auditFrom is the time from which entries are wanted: without since= so long ago. Zero: all that are kept.
func auditFrom(c *call.Call, back time.Duration) (time.Time, error) {
	var err error
	if since := c.Line.Keys["since"]; since != "" {
		back, err = grammar.ParseDuration(since)
	}
	if err != nil || back == grammar.Never {
		return time.Time{}, err
	}
	return c.Now.Add(-back), nil
}

// Since is how far back a line looks.
func Since(c *call.Call, back time.Duration) (time.Time, error) {
	since, err := auditFrom(c, back)
	if err == nil && since.IsZero() {
		err = refusal.Usage("Invalid duration: forever. Example: `since=24h`")
	}
	return since, err
}

// auditUser is the part of a name or id, in lower case, by which entries are wanted; "": all entries.
func auditUser(c *call.Call) string {
	by := c.Line.Keys["by"]
	if user, err := call.ReadUser(by, nil); err == nil {
		by = user
	}
	if by == call.Me {
		by = c.Actor.ID
	}
	return strings.ToLower(strings.TrimPrefix(by, "@"))
}

// ExportAudit gives the entries as the lines that wafbot prints. In a chat it says where they are had: there is no room
// for them.
func ExportAudit(ctx context.Context, c *call.Call, log *store.Audit) (call.Result, error) {
	res, by := call.Result{Account: c.OnlyAccount()}, auditUser(c)
	if c.Actor.Via != record.ViaCLI {
		res.Lines.Addf("The audit log is exported at the terminal, as JSON lines: `wafbot %v`. Here `audit` lists it",
			c.Line.With("account", res.Account).String())
		return res, nil
	}
	res.Stream = func(yield func(any, error) bool) {
		for _, a := range c.InScope {
			from, err := auditFrom(c.For(a), grammar.Never)
			if err != nil {
				yield(nil, err)
				return
			}
			for e, err := range log.Trail(ctx, a.Name, from) {
				switch {
				case err != nil:
					if !yield(nil, fmt.Errorf("export entry %d of %s: %w", e.N, a.Name, err)) {
						return
					}
				case e.IsBy(by) && !yield(Print(e), nil):
					return
				}
			}
		}
	}
	return res, nil
}

// Printed is an entry as it is written to the log's output, and exported: docs/audit.md says what others may rely on.
type Printed struct {
	Audit  record.AuditEntry `json:"audit"`
	ID     string            `json:"id"`     // the same wherever it is written; an entry that Redis has lost may have had its number
	Schema int               `json:"schema"` // its version
}

// Print is an entry as it is printed.
func Print(e record.AuditEntry) Printed {
	return Printed{e, record.DeliveryID(e.Account, strconv.FormatInt(e.At.UnixNano(), 10)+" "+e.Line, "audit",
		int(e.N)), 1}
}
