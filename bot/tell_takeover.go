package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// tellTakeOver calls once each who was on one of the attacks, and who is on them now unless he took them himself. It is told as far as it still holds.
func (b *Bot) tellTakeOver(ctx context.Context, n record.Event) error {
	cases, err := b.cfg.Memory.Cases(ctx, n.Account)
	if err != nil {
		return err
	}
	lines := card.TakeoverLines(n, cases)
	if len(lines) == 0 {
		return b.record(ctx, n, place{})
	}
	return b.tellMessage(ctx, n, card.Lines(lines, nil))
}
