package main

import (
	"net/netip"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// watch asks this process's pollers which attacks go on. Only the poller of an account that this replica owns knows.
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

// watched are the events of a change whose end was checked.
func (a *app) watched(l change.Look) []record.Event {
	return bot.Due(l, a.configured(l.Change.Account).Channel)
}
