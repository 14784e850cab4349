package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

const knowEvery = 10 * time.Second // between two checks for open changes of removed accounts

// leftOver are changes that nothing ends, by account: those that are active on accounts that left the configuration.
func (a *app) leftOver() map[string][]record.Change {
	if left := a.left.Load(); left != nil {
		return *left
	}
	return nil
}

// watchAccounts records which accounts are configured, and logs those removed from the configuration that still have
// changes, which nothing ends. It returns when the context ends.
func (a *app) watchAccounts(ctx context.Context) {
	every(ctx, knowEvery, func() {
		if a.Replicas.KnowAccounts(ctx, a.names()) != nil {
			return // Redis is away: redisAway logs it
		}
		left, ended, err := a.Replicas.NotEnded(ctx, a.names())
		if err != nil {
			return // Redis is away
		}
		before := a.leftOver()
		for _, name := range slices.Sorted(maps.Keys(left)) {
			switch _, said := before[name]; {
			case left[name] != nil && before[name] == nil:
				a.log.Error("an account that is not in the configuration has open changes, which nothing ends: "+
					"put it back, or end them by hand", "account", name, "open", record.SayOpen(left[name]))
			case !said:
				a.log.Error("an account that is not in the configuration has no state, and may have changes in force, which nothing ends: "+
					"put it back, or end them by hand", "account", name)
			}
		}
		_ = a.Replicas.ForgetAccounts(ctx, ended) // else the next time
		a.left.Store(&left)
	})
}

// every does something now and then, until the context ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	for do(); delay.Sleep(ctx, pause) == nil; do() {
	}
}

// names are the accounts of this replica's configuration.
func (a *app) names() []string { return slices.Sorted(maps.Keys(a.tenants)) }

// configuration says how the configuration stands, for /readyz.
func (a *app) configuration() bot.Configuration {
	c := bot.Configuration{Removed: map[string]string{}}
	if a.misconfigured.Load() {
		c.Failed = "the file as it is now can't be used: the one before counts. The log has why"
	}
	for name, open := range a.leftOver() {
		says := "not in the configuration, and nothing ends what is open: " + record.SayOpen(open)
		if open == nil {
			says = "not in the configuration, and its state is empty: changes of it may be in force, which nothing ends"
		}
		c.Removed[name] = says
	}
	return c
}

// watchClocks logs once when this machine's clock is off, and once when it is right again. It returns when the context
// ends.
func (a *app) watchClocks(ctx context.Context) {
	before := false
	every(ctx, time.Second, func() {
		off := a.clocks.Offsets().Off()
		switch {
		case off != 0 && !before:
			a.log.Warn("this machine's clock and redis' are apart: set them (NTP)", "ahead", off.Round(time.Second))
		case off == 0 && before:
			a.log.Info("this machine's clock and redis' agree again")
		}
		before = off != 0
	})
}

// hear asks Redis for the time, whether anything may be changed, and the version of the state, before the first click
// is taken. It fails with store.ErrNewer or store.ErrOlder when this process can't read that version, and where
// Redis itself is too old. Where Redis is away, no click is taken anyway.
func (a *app) hear(ctx context.Context) error {
	err := a.Replicas.Hear(ctx)
	if !errors.Is(err, store.ErrNewer) && !errors.Is(err, store.ErrOlder) && !store.TooOld(err) {
		return nil
	}
	return a.explain(ctx, err)
}

// explain is an error with what to do about it. It logs what an operator must know for that: nothing, or what is in
// force.
func (a *app) explain(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrOlder) {
		a.logInForce(ctx)
	}
	return refusal.Advised(err)
}

// listsTimeout bounds reading the service's lists for the log.
const listsTimeout = 30 * time.Second

// logInForce logs which of wafbot's changes are active at the service, when their state is of an older version: no
// replica ends them until that is removed.
func (a *app) logInForce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listsTimeout)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if err := a.logInForceOn(ctx, account.Name); err != nil {
			a.log.Error("read what is in force at the service", "account", account.Name, "err", err)
		}
	}
}

func (a *app) logInForceOn(ctx context.Context, account string) error {
	api := a.tenants[account].api
	log := a.log.With("account", account)
	for e, err := range api.IPRules(ctx, "") {
		if err != nil {
			return fmt.Errorf("read lists: %w", err)
		}
		if id, ok := change.NamedIn(e.Reason); ok {
			log.Warn("in force at the service", "change", id, "list", e.List, "targets", fmt.Sprint(grammar.TargetsOf(e)),
				"until", e.Expires, "reason", e.Reason)
		}
	}
	for r, err := range api.Rules(ctx, 0) {
		if err != nil {
			return fmt.Errorf("read rules: %w", err)
		}
		if id, ok := change.NamedIn(r.Comment); ok {
			log.Warn("in force at the service", "change", id, "rule", r.ID, "type", r.Type, "comment", r.Comment)
		}
	}
	return nil
}
