package main

import (
	"context"

	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// observed has an account's poller tell the watch of its changes what it sees, and has this replica show at once what that means.
func (a *app) observed(account string) poller.Observed {
	return func(ctx context.Context, o poller.Observation) {
		settings := a.pollers[account].Settings()
		g := efficacy.Glance{
			At: o.At, Since: o.Since, Skew: o.Skew, Pairs: make([]record.AttackDelta, len(o.Pairs)),
			Entries: settings.Entries, Rules: settings.Rules, LookedAt: settings.At,
		}
		for i, p := range o.Pairs {
			g.Pairs[i] = record.AttackDelta(p)
		}
		err := a.effects[account].See(ctx, g)
		if err != nil && ctx.Err() == nil {
			a.log.Error("look what changes do", "account", account, "err", err)
		}
	}
}
