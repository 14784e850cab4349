package main

import (
	"net/netip"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// watch asks this process's pollers what goes on. Only that of an account which this replica tends knows.
type watch map[string]*poller.Poller

// Knocks implements commands.Watch.
func (w watch) StillTrying(account string, addresses []netip.Addr) bool {
	p, ok := w[account]
	return ok && p.StillTrying(addresses)
}

// GoesOn implements commands.Watch.
func (w watch) GoesOn(account, attack string) bool {
	p, ok := w[account]
	return ok && p.GoesOn(func(attackid string) bool { return record.AttackID(account, attackid) == attack })
}

// watched is the news of what came of looking at a change that ends.
func (a *app) watched(l change.Look) []record.Event {
	return bot.Due(l, a.configured(l.Change.Account).Channel)
}
