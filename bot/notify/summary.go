package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// summaryLate is how long after its hour a hand-over is still posted; a person who came on duty later has asked for one. It is shorter than the
// hour for which the outbox knows what was delivered, so that one whose event is stored again isn't posted again.
const summaryLate = 45 * time.Minute

// summaryEvent is the event that it is time to hand an account over: of one hour all replicas make the same.
func summaryEvent(account, channel string, at time.Time) record.Event {
	return record.Event{ID: fmt.Sprintf("summary-%d", at.Unix()), Account: account, Kind: record.SummaryDue, Channel: channel, At: at}
}

// summaryDue hands an account over in its channel, as it is when this is posted.
func (n *Notifier) summaryDue(ctx context.Context, a Account, e record.Event) error {
	if n.cfg.Now().Sub(e.At) > summaryLate {
		return n.deliver.drop(ctx, e)
	}
	post := eventPost(e, card.Message{}, "")
	t, err := n.deliver.begin(ctx, e.Account, post.Delivery)
	if err != nil {
		return err
	}
	if t.done {
		return n.deliver.drop(ctx, e)
	}
	res, err := n.cfg.Runner.Do(ctx, call.Invocation{
		ID: e.ID, At: e.At, Line: record.Line{Name: "summary"}.With("account", e.Account), Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock},
	})
	if err != nil {
		return fmt.Errorf("draw summary: %w", err)
	}
	post.Message = card.Summary(a.Account, res)
	channel, ts, err := n.deliver.postBegun(ctx, post, t)
	if err != nil {
		return err
	}
	return n.deliver.record(ctx, e, place{channel: channel, ts: ts})
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
	for {
		due, next := a.Summary.Around(n.cfg.Now().In(n.cfg.Zone))
		wait := time.Until(next)
		if !due.Equal(last) && time.Since(due) < summaryLate {
			if err := n.emit(ctx, summaryEvent(account, a.Channel, due)); err == nil {
				last = due
			} else {
				n.cfg.Log.Warn("store event of a hand-over", "account", account, "err", err)
				wait = emitAgain
			}
		}
		if delay.Sleep(ctx, wait) != nil {
			return
		}
	}
}
