package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

const knowEvery = 10 * time.Second // how often it is looked whether changes of removed accounts are still to be ended

// lookout finds accounts that left the configuration while their changes are active.
type lookout struct {
	replicas *store.Replicas
	names    []string // accounts
	log      *slog.Logger

	mu   sync.Mutex
	left map[string][]record.Change // what nothing ends, by account; nil: it isn't known
}

func (l *lookout) leftOver() map[string][]record.Change {
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
		case left[name] != nil && before[name] == nil:
			l.log.Error("an account that is not in the configuration has open changes, which nothing ends: "+
				"put it back, or end them by hand", "account", name, "open", record.SayOpen(left[name]))
		case !said:
			l.log.Error("an account that is not in the configuration has no state, and may have changes in force, which nothing ends: put it back, or end them by hand", "account", name)
		}
	}
	_ = l.replicas.ForgetAccounts(ctx, ended) // else the next time
	l.mu.Lock()
	l.left = left
	l.mu.Unlock()
}

// names are the accounts of this replica's configuration.
func (a *app) names() []string { return slices.Sorted(maps.Keys(a.tenants)) }

// configuration says how the configuration stands, for /readyz.
func (a *app) configuration() bot.Configuration {
	var c bot.Configuration
	if a.restarts != nil && a.restarts.failed.Load() {
		c.Failed = "the file as it is now can't be used: the one before counts. The log has why"
	}
	left := a.lookout.leftOver()
	for name, open := range left {
		says := "not in the configuration, and nothing ends what is open: " + record.SayOpen(open)
		if open == nil {
			says = "not in the configuration, and its state is empty: changes of it may be in force, which nothing ends"
		}
		c.Remove(name, says)
	}
	return c
}
