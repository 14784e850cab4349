package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// summaryLate is how long after its hour a hand-over is still posted; a person whose shift began later has asked for one. It is shorter than the
// hour for which the outbox knows what was delivered, so that one whose event is stored again isn't posted again.
const summaryLate = 45 * time.Minute

// summaryEvent is the event that it is time to hand an account over: of one hour all replicas make the same.
func summaryEvent(account, channel string, at time.Time) record.Event {
	return record.Event{ID: fmt.Sprintf("summary-%d", at.Unix()), Account: account, Kind: record.SummaryDue, Channel: channel, At: at}
}

// emitAgain is how long to wait before a hand-over's event is stored again that could not be.
const emitAgain = time.Second

// runSummaries has an account handed over each day at its hour. Its event is stored again by a replica that owns the account later: the outbox
// knows what was delivered.
func (n *Notifier) runSummaries(ctx context.Context, account string) {
	a, ok := n.account(account)
	if !ok || a.Summary == nil {
		return
	}
	var last time.Time
	for ctx.Err() == nil {
		now := n.cfg.Clocks.Now()
		due, next := a.Summary.Around(now.In(n.cfg.Zone))
		wait := next.Sub(now)
		if !due.Equal(last) && now.Sub(due) < summaryLate {
			if err := n.emit(ctx, summaryEvent(account, a.Channel, due)); err == nil {
				last = due
			} else {
				n.cfg.Log.WarnContext(ctx, "store event of a hand-over", "account", account, "err", err)
				wait = emitAgain
			}
		}
		_ = delay.Sleep(ctx, wait)
	}
}

// drillClock ends an account's drill when it was not answered in time.
type drillClock struct {
	notifier *Notifier
	account  string
	wake     chan struct{}
}

// drillAgain is how long to wait when it isn't known whether a drill waits, or it couldn't be ended.
const drillAgain = 5 * time.Second

// run begins with what Redis holds: another replica may have posted the card.
func (r *drillClock) run(held, more context.Context) {
	for more.Err() == nil {
		var end <-chan time.Time
		d, err := r.notifier.cfg.Stores.Drills.Drill(held, r.account)
		switch {
		case err != nil:
			end = time.After(drillAgain)
		case d.Waits() && !r.now().Before(d.Until):
			if _, err := r.notifier.cfg.Runner.Do(held, stopOf(d, r.notifier.cfg.Clocks.Now())); err != nil {
				r.notifier.cfg.Log.WarnContext(held, "end drill", "account", r.account, "err", err)
			}
			end = time.After(drillAgain)
		case d.Waits():
			end = time.After(d.Until.Sub(r.now()))
		}
		select {
		case <-more.Done():
		case <-r.wake:
		case <-end:
		}
	}
}

// now is the time by which drills begin and end.
func (r *drillClock) now() time.Time { return r.notifier.cfg.Clocks.ServiceNow(r.account) }

// stopOf is the clock's request to end a drill.
func stopOf(d record.Drill, now time.Time) call.Invocation {
	return byClock("over "+d.ID, now, record.Line{Name: "drill", Words: []string{"stop"}}.With("account", d.Account))
}
