package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// summaryDue is the reason of news that an account's hour for handing over has come.
const summaryDue record.EventKind = "summary"

// SummaryLate is how long after its hour a hand-over is still told; whoever came on duty later has asked for one. It is shorter than the hour
// for which the memory knows what was told, so that one that is announced again isn't told again.
const SummaryLate = 45 * time.Minute

// SummaryDue is the news that it is time to hand an account over: of one hour all replicas make the same.
func SummaryDue(account, channel string, at time.Time) record.Event {
	return record.Event{ID: fmt.Sprintf("summary-%d", at.Unix()), Account: account, Reason: summaryDue, Channel: channel, At: at}
}

// tellSummary hands an account over in its channel, as it is when this is posted.
func (b *Bot) tellSummary(ctx context.Context, a Account, n record.Event) error {
	if b.cfg.Now().Sub(n.At) > SummaryLate {
		return b.record(ctx, n, place{})
	}
	invoked := newsCall(n, card.Message{}, "")
	t, err := b.try(ctx, n.Account, invoked.Delivery)
	if err != nil {
		return err
	}
	if t.told {
		return b.record(ctx, n, place{})
	}
	res, err := b.cfg.Runner.Do(ctx, call.Invocation{
		ID: n.ID, At: n.At, Line: record.Line{Name: "summary"}.With("account", n.Account), Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock},
	})
	if err != nil {
		return fmt.Errorf("draw summary: %w", err)
	}
	invoked.Message = card.Summary(a.Account, res)
	channel, ts, err := b.postTried(ctx, invoked, t)
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{channel: channel, ts: ts})
}
