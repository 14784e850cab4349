package main

import (
	"net/netip"

	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// watch asks this process's pollers which attacks go on. Only the poller of an account that this replica owns knows.
type watch struct {
	pollers map[string]*poller.Poller
	effects map[string]*efficacy.Watch
}

// Knocks implements commands.Watch.
func (w watch) StillTrying(account string, addresses []netip.Addr) bool {
	p, ok := w.pollers[account]
	return ok && p.StillTrying(addresses)
}

// GoesOn implements commands.Watch.
func (w watch) GoesOn(account, attack string) bool {
	p, ok := w.pollers[account]
	return ok && p.GoesOn(func(attackid string) bool { return record.AttackID(account, attackid) == attack })
}

// Changed implements commands.Watch.
func (w watch) Changed(account string) {
	if p, ok := w.pollers[account]; ok {
		p.RefreshSettings()
		w.effects[account].Refresh()
	}
}
