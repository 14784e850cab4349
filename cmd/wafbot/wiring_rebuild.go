package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/internal/record"
)

// settleFor is how long a message of a dying replica can still arrive at Slack: as long as its lease, and its last
// request, last.
const settleFor = 14 * time.Second

// rebuildTimeout is how long a terminal waits for Slack and Redis. A running bot waits longer.
const rebuildTimeout = 2 * time.Minute

// rebuildFor rebuilds the state of the accounts that a line at the terminal may change, and says so to a person, who
// waits. If it fails, the line itself is refused with the reason.
func (a *app) rebuildFor(ctx context.Context, line record.Line, t terminal) {
	ctx, cancel := context.WithTimeout(ctx, rebuildTimeout)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if named := line.Keys["account"]; named != "" && named != account.Name || !a.posts(account.Name) {
			continue
		}
		if epoch, err := a.Epochs.Epoch(ctx, account.Name); err == nil && epoch == "" && t.asks {
			fmt.Fprintf(t.err, "wafbot: its store (Redis) is empty: rebuilding the state of %s from Slack\n", account.Name)
		}
		r, err := a.beginRebuild(ctx, account.Name)
		if err == nil && r != nil {
			err = r.Finish(ctx)
		}
		if err != nil {
			a.log.Error("rebuild the account's state", "account", account.Name, "err", err)
		}
	}
}

// beginRebuild begins an account's state when there is none; nil: there is nothing to finish.
func (a *app) beginRebuild(ctx context.Context, account string) (*rebuild.Rebuild, error) {
	t := a.tenants[account]
	return rebuild.Begin(ctx, rebuild.Config{
		Account: t.Account, Channels: t.Channels(), Settle: a.settle, Show: a.server.Rebuilding, Log: a.log,
		Back:  max(2*t.Lookback, t.Policy.LongestDuration) + time.Hour, // a change's message follows a little after it
		Slack: a.slack, Service: t.api, Epochs: a.Epochs, Clocks: a.clocks,
	})
}

// posts reports whether the account's changes are posted to Slack. A terminal can do without: then there is nothing to
// rebuild from, and what it saves is kept when a replica rebuilds.
func (a *app) posts(account string) bool {
	return a.cfg.Slack.BotToken != "" && a.tenants[account].Channel != ""
}
