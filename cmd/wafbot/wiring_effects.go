package main

import (
	"context"

	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/poller"
)

// Observe implements poller.Observer: it judges the account's mitigations by what the poll found, and shows what that means.
func (a *app) Observe(ctx context.Context, account string, d poller.PollDelta) {
	g := efficacy.Snapshot{
		At: d.At, Since: d.Since, Skew: d.Skew, Deltas: d.Changes,
		Entries: d.Settings.Entries, Rules: d.Settings.Rules, ListsReadAt: d.Settings.At,
	}
	if err := a.effects[account].Observe(ctx, g); err != nil && ctx.Err() == nil {
		a.log.Error("judge mitigations", "account", account, "err", err)
	}
}
