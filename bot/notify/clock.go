package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// summaryLate is how long after its hour a hand-over is still posted; a person whose shift began later has asked for
// one. It is shorter than the hour for which the outbox knows what was delivered, so that one whose event is stored
// again isn't posted again.
const summaryLate = 45 * time.Minute

// emitAgain is how long to wait before a hand-over's event is stored again that could not be.
const emitAgain = time.Second

// runSummaries has an account handed over each day at its hour. Its event is stored again by a replica that owns the
// account later: the outbox knows what was delivered.
func (n *Notifier) runSummaries(ctx context.Context, a Account) {
	if a.Summary.At == "" {
		return
	}
	var last time.Time
	for ctx.Err() == nil {
		now := n.cfg.Clocks.Now()
		due, next := a.Summary.Around(now.In(n.cfg.Zone))
		wait := next.Sub(now)
		if !due.Equal(last) && now.Sub(due) < summaryLate {
			id := fmt.Sprintf("summary-%d", due.Unix()) // of one hour all replicas make the same
			e := record.Event{ID: id, Account: a.Name, Kind: record.SummaryDue, Channel: a.Channel, At: due}
			if err := n.emit(ctx, e); err == nil {
				last = due
			} else {
				n.cfg.Log.WarnContext(ctx, "store event of a hand-over", "account", a.Name, "err", err)
				wait = emitAgain
			}
		}
		_ = delay.Sleep(ctx, wait)
	}
}
