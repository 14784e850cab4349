package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/rebuild"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// settleFor is how long a message of a dying replica can still arrive at Slack: as long as its lease, and its last request, last.
const settleFor = 14 * time.Second

// listsTimeout bounds reading the service's lists. Without them the state is rebuilt from the channels alone.
const listsTimeout = 30 * time.Second

// rebuildTimeout is how long a terminal waits for Slack and Redis. A running bot waits longer.
const rebuildTimeout = 2 * time.Minute

// rebuildFor rebuilds the state of the accounts that a line at the terminal may change, and says so to a person, who waits. If it fails, the
// line itself is refused with the reason.
func (a *app) rebuildFor(ctx context.Context, line record.Line, t terminal) {
	ctx, cancel := context.WithTimeout(ctx, rebuildTimeout)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if named := line.Keys["account"]; named != "" && named != account.Name || !a.posts(account.Name) {
			continue
		}
		epoch, err := a.store.Epochs.Epoch(ctx, account.Name)
		if err == nil && epoch == "" {
			if t.asks {
				fmt.Fprintf(t.err, "wafbot: its store (Redis) is empty: rebuilding the state of %s from Slack\n", account.Name)
			}
			err = a.rebuild(ctx, account.Name)
		}
		if err != nil {
			a.log.Error("rebuild the account's state", "account", account.Name, "err", err)
		}
	}
}

// rebuild begins an account's state when there is none: at a first start, and after Redis was emptied. It reads cards and changes from the
// metadata of Slack's messages; until then nothing of the account may be posted or changed. A first start is one at which it finds nothing.
func (a *app) rebuild(ctx context.Context, account string) error {
	if epoch, err := a.store.Epochs.Epoch(ctx, account); err != nil || epoch != "" {
		return err
	}
	t := a.tenants[account]
	a.log.Info("the account's state is empty: rebuilding it from slack", "account", account, "channels", len(t.cfg.Channels()))
	found, err := a.readHistory(ctx, t.cfg, true)
	if err == nil && found.Any {
		if err := delay.Sleep(ctx, a.settle); err != nil {
			return err
		}
		found, err = a.readHistory(ctx, t.cfg, false)
	}
	if err != nil {
		return err
	}
	in := rebuild.Input{Account: t.Account, Channels: t.cfg.Channels(), Epoch: store.NewEpoch(), Found: found, Now: a.clocks.ServiceNow(account)}
	if !found.Nothing() {
		if in.Entries, err = a.entries(ctx, account); err != nil {
			in.NoLists = true
			a.log.Error("read the service's lists: entries that no message holds stay unknown", "account", account, "err", err)
		}
	}
	r := rebuild.State(in)
	if begun, err := a.store.Epochs.Restore(ctx, account, r); err != nil || !begun {
		return err // another replica was faster, and posts the events
	}
	a.log.Info("the account's state begins", "account", account, "epoch", r.Epoch, "cards", len(r.Cards), "changes", len(r.Changes))
	return nil
}

// readHistory reads as far back as a message can hold an attack or a change in force; with peek it only looks whether there is any.
func (a *app) readHistory(ctx context.Context, cfg config.Account, peek bool) (bot.Found, error) {
	back := max(2*cfg.Lookback, a.cfg.Policy.LongestDuration) + time.Hour // a change's message is posted a little after the change
	return a.bot.ReadHistory(ctx, bot.History{Account: cfg.Name, Channels: cfg.Channels(), Oldest: a.clocks.Outside().Add(-back), Peek: peek})
}

// entries are those on the service's lists.
func (a *app) entries(ctx context.Context, account string) (all []apiclient.IPRule, err error) {
	ctx, cancel := context.WithTimeout(ctx, listsTimeout)
	defer cancel()
	for e, err := range a.tenants[account].api.IPRules(ctx, apiclient.IPRuleFilter{}) {
		if err != nil {
			return nil, fmt.Errorf("read lists: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// posts reports whether the account's changes are posted to Slack. A terminal can do without: then there is nothing to rebuild from, and what it
// saves is kept when a replica rebuilds.
func (a *app) posts(account string) bool {
	return a.cfg.Slack.BotToken != "" && a.tenants[account].Channel != ""
}
