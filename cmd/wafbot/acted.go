package main

import (
	"context"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// acted are the attacks that something was done about, since when: their cards are drawn at once, and again when lists and rules have been
// read since. Until then they would offer what was just done and not what was just taken back.
type acted struct {
	mu    sync.Mutex
	since map[string]map[string]time.Time // by account, by attack
}

func (a *acted) add(ch commands.Change) {
	if ch.AttackID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[string]map[string]time.Time{}
	}
	if a.since[ch.Account] == nil {
		a.since[ch.Account] = map[string]time.Time{}
	}
	a.since[ch.Account][ch.AttackID] = time.Now()
}

// take takes the account's attacks off about which nothing was done after a time.
func (a *acted) take(account string, until time.Time) (attacks []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for attack, at := range a.since[account] {
		if !at.After(until) {
			attacks = append(attacks, attack)
			delete(a.since[account], attack)
		}
	}
	return attacks
}

// redrawActed has the cards redrawn for which lists and rules were too old when they were drawn.
func (a *app) redrawActed(ctx context.Context, account string, read time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, attack := range a.acted.take(account, read) {
		if err := a.store.Outdated(ctx, account, attack); err != nil {
			a.log.Error("mark card", "attack", attack, "err", err)
			continue
		}
		a.bot.Redraw(account, attack)
	}
}
