package main

import (
	"context"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// Observe implements poller.Observer: it judges the account's mitigations by what the poll found, and has this replica show at once what that means.
func (a *app) Observe(ctx context.Context, account string, d poller.PollDelta) {
	g := efficacy.Glance{
		At: d.At, Since: d.Since, Skew: d.Skew, Pairs: d.Changes,
		Entries: d.Settings.Entries, Rules: d.Settings.Rules, LookedAt: d.Settings.At,
	}
	all, err := a.effects[account].See(ctx, g)
	if err != nil && ctx.Err() == nil {
		a.log.Error("judge mitigations", "account", account, "err", err)
	}
	for _, j := range all {
		a.bot.Outdated(account)
		a.bot.Wake(account, a.judged(j))
	}
}

// judged is the news of what was seen of a change.
func (a *app) judged(j efficacy.Judged) []record.Event {
	return bot.Judged(j, a.configured(j.Change.Account).Channel)
}
