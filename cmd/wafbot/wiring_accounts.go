package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/store"
)

// tenancy is an account of a configuration with its policy. It outlives the configuration where the account was taken out of it while changes were in force: then the
// account is neither watched nor shown, and what is due is ended with the client that it had.
type tenancy struct {
	config.Account

	policy config.Policy
	slack  config.Slack // its workspace
}

// removedBy are the accounts that a configuration has no more, as far as changes of theirs are to be ended. Those of which Redis doesn't say, or whose state is being
// rebuilt, count, too.
func (a *app) removedBy(ctx context.Context, next *config.Config, replicas *store.Replicas) (all []tenancy) {
	stays := map[string]bool{}
	for _, account := range next.Accounts {
		stays[account.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(a.tenants)) {
		t := a.tenants[name]
		if stays[name] {
			continue
		}
		due, err := replicas.Due(ctx, name)
		a.log.Info("account was taken out of the configuration: what is due is still ended", "account", name, "changes", due, "err", err)
		if due > 0 || err != nil {
			w := t.side.Slack
			if stays := next.Workspace(w.Name); stays != nil {
				w = *stays
			}
			all = append(all, tenancy{t.cfg, withoutRoles(t.policy, next.Policy.Changes), w})
		}
	}
	return all
}

const knowEvery = 10 * time.Second // how often it is looked whether changes of removed accounts are still to be ended

// lookout compares the configuration with Redis: which accounts it has no more though changes of them are in force, and which replicas have another one.
type lookout struct {
	replicas *store.Replicas
	names    []string // accounts
	hash     string   // of the configuration
	log      *slog.Logger

	mu   sync.Mutex
	left map[string]int // changes that nothing ends, by account; 0: it isn't known how many
}

func (l *lookout) leftOver() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.left)
}

// watchAccounts notes which accounts there are, and says of which that are no more changes can't be ended. It returns when the context ends.
func (l *lookout) watchAccounts(ctx context.Context) {
	every := time.NewTicker(knowEvery)
	defer every.Stop()
	for {
		l.lookForLeftOver(ctx)
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

func (l *lookout) lookForLeftOver(ctx context.Context) {
	if l.replicas.KnowAccounts(ctx, l.names) != nil {
		return // Redis is away, which is said elsewhere
	}
	left, ended, err := l.replicas.NotEnded(ctx, l.names)
	if err != nil {
		return // likewise
	}
	before := l.leftOver()
	for _, name := range slices.Sorted(maps.Keys(left)) {
		switch _, said := before[name]; {
		case left[name] > 0 && before[name] == 0:
			l.log.Error("an account that is not in the configuration has changes in force, which nothing ends: put it back, or end them by hand", "account", name, "changes", left[name])
		case !said:
			l.log.Error("an account that is not in the configuration has no state, and may have changes in force, which nothing ends: put it back, or end them by hand", "account", name)
		}
	}
	_ = l.replicas.ForgetAccounts(ctx, ended) // else the next time
	l.mu.Lock()
	l.left = left
	l.mu.Unlock()
}

// names are the accounts of this replica's configuration, and those that were taken out and have changes in force.
func (a *app) names() []string { return slices.Sorted(maps.Keys(a.tenants)) }

// configuration says how the configuration stands, for /readyz.
func (a *app) configuration() bot.Configuration {
	c := bot.Configuration{Hash: a.hash, Differing: a.store.Replicas.Differing()}
	if a.loads != nil {
		c.Loaded, c.Failed = a.loads.last()
	}
	left := a.lookout.leftOver()
	for name, n := range left {
		says := fmt.Sprintf("not in the configuration, but changes of it are in force, which nothing ends: %d", n)
		if n == 0 {
			says = "not in the configuration, and its state is empty: changes of it may be in force, which nothing ends"
		}
		c.Remove(name, says)
	}
	for name, t := range a.tenants {
		if t.removed {
			c.Remove(name, "taken out of the configuration: what is due is still ended")
		}
	}
	return c
}

// differFor is for how many seconds configurations may differ before it is logged: that long replicas take to load one after another.
const differFor = 10

// watchConfigurations logs once when another replica's configuration differs from this one's for a while, and once when all are alike again. It returns when the context ends.
func (l *lookout) watchConfigurations(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for lasted := 0; ; {
		differing := l.replicas.Differing()
		switch {
		case len(differing) > 0:
			if lasted++; lasted == differFor {
				l.log.Warn("replicas have other configurations than this one: load the same on all of them", "hash", l.hash, "on", differing)
			}
		case lasted >= differFor:
			l.log.Info("all replicas have this configuration", "hash", l.hash)
			fallthrough
		default:
			lasted = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// withoutRoles is the policy of an account that is no one's any more.
func withoutRoles(p config.Policy, changes string) config.Policy {
	p.Viewers, p.Responders, p.Admins, p.Terminal = nil, nil, nil, nil
	p.Changes = policy.Stricter(p.Changes, changes)
	return p
}
