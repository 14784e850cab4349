package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// tookOver is the reason of news about somebody who was put on all attacks of an account; its mention is he.
const tookOver record.EventKind = "took over"

// TakenOver is the news that somebody was put on all attacks of an account: one message in its channel, however many they are.
func TakenOver(t call.TakeOver, channel string) record.Event {
	return record.Event{ID: "take over " + t.Delivery, Account: t.Account, Reason: tookOver, Channel: channel, Mention: t.To, At: t.Since}
}

// tellTakeOver calls once each who was on one of the attacks, and who is on them now unless he took them himself. It is told as far as it still holds.
func (b *Bot) tellTakeOver(ctx context.Context, n record.Event) error {
	cases, err := b.cfg.Memory.AllTriage(ctx, n.Account)
	if err != nil {
		return err
	}
	lines := card.TakeoverLines(n, cases)
	if len(lines) == 0 {
		return b.record(ctx, n, place{})
	}
	return b.tellMessage(ctx, n, card.Lines(lines, nil))
}
