package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// exportAudit gives the entries as the lines that wafbot prints. In a chat it says where they are had: there is no room for them.
func (c *Call) exportAudit(ctx context.Context, log AuditTrail, from time.Time) Result {
	if c.Actor.Via != record.ViaCLI {
		line := c.Line.With("account", c.onlyAccount())
		return Result{Account: c.onlyAccount(), Lines: []text.Text{
			text.New("The audit log is exported at the terminal, as JSON lines: ", text.Code("wafbot "+line.String()), ". Here ", text.Code("audit"), " lists it"),
		}}
	}
	by := c.auditedUser()
	return Result{Account: c.onlyAccount(), Stream: func(yield func(any, error) bool) {
		for _, a := range c.All {
			for e, err := range log.Trail(ctx, a.Name, from) {
				switch {
				case err != nil:
					if !yield(nil, fmt.Errorf("export entry %d of %s: %w", e.N, a.Name, err)) {
						return
					}
				case e.IsBy(by) && !yield(printed{e}, nil):
					return
				}
			}
		}
	}}
}
