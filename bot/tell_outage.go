package bot

import (
	"context"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// tellBlind tells that an account can't be watched, unless it is watched again by now: then the news of the gap says both.
func (b *Bot) tellBlind(ctx context.Context, a Account, n record.Event) error {
	b.Outdated(n.Account) // the cards say so, too
	if n.Blind == nil || a.Health != nil && a.Health().LastGood.After(n.At) {
		return b.record(ctx, n, place{})
	}
	return b.tellMessage(ctx, n, card.Unreachable(a.Account, *n.Blind))
}

// tellGap tells from when to when an account was not watched, and what happened meanwhile.
func (b *Bot) tellGap(ctx context.Context, a Account, n record.Event) error {
	b.Outdated(n.Account)
	if n.Gap == nil {
		return b.record(ctx, n, place{})
	}
	return b.tellMessage(ctx, n, card.MonitoringGap(a.Account, *n.Gap, b.cfg.Now()))
}
