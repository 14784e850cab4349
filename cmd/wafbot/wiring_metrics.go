package main

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/store"
)

// state is what /metrics shows, but for what the server knows. Accounts are as this replica knows them that owns them;
// what Redis holds is left out while it is away.
func (a *app) state(ctx context.Context) metrics.State {
	s := metrics.State{RedisUp: a.Ping(ctx) == nil}
	if n, heard := a.Replicas.Living(); heard {
		s.Replicas = &n
	}
	s.Config = &metrics.Config{Loaded: !a.misconfigured.Load()}
	for _, open := range a.leftOver() {
		s.Config.Undrained += len(open)
	}
	clocks := a.clocks.Offsets()
	if clocks.RedisKnown {
		s.RedisClock = &clocks.Redis
	}
	if account, ahead := clocks.Farthest(); account != "" {
		s.ServiceClock = &ahead
	}
	var owned []string
	for account := range a.tenants {
		if a.notifier.Owns(account) {
			owned = append(owned, account)
		}
	}
	var waiting *store.Waiting
	if s.RedisUp {
		if w, err := a.Waiting(ctx, owned); err == nil {
			waiting = &w
			s.Requests = &metrics.Queue{Waiting: w.Requests.Waiting, Age: age(w.Requests.Oldest, a.clocks.Now())}
		}
	}
	for _, account := range a.cfg.Accounts {
		s.Accounts = append(s.Accounts, a.accountMetrics(account.Name, waiting))
	}
	return s
}

// accountMetrics is how an account is; waiting is nil where it isn't known.
func (a *app) accountMetrics(name string, waiting *store.Waiting) metrics.Account {
	t := a.tenants[name]
	m := metrics.Account{Name: name, Interval: t.PollInterval, Owned: a.notifier.Owns(name), Foreign: t.api.Foreign()}
	if !m.Owned {
		return m
	}
	h := t.poller.Health()
	m.Polled, m.Reachable, m.LastGood, m.Attacks, m.Capped = h.Known(), h.Failing == "", h.LastGood, h.Attacks, h.Capped != ""
	m.Events, m.StaleCards = a.notifier.Backlog(name)
	if waiting == nil {
		return m
	}
	if w, read := waiting.Accounts[name]; read {
		m.PermissionLost = &w.PermissionLost
		m.Approvals = &metrics.Queue{Waiting: w.Approvals, Age: age(w.OldestApproval, a.clocks.ServiceNow(name))}
	}
	return m
}

// age is how long something has waited; 0: nothing does.
func age(since, now time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since))
}
