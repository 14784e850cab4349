package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
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

// rebuild begins an account's state when there is none: at a first start, and after Redis was emptied.
func (a *app) rebuild(ctx context.Context, account string) error {
	r, err := a.beginRebuild(ctx, account)
	if err != nil || r == nil {
		return err
	}
	return r.finish(ctx)
}

// rebuilding is an account's state that was begun to be rebuilt. It reads cards and changes from the metadata of Slack's messages.
type rebuilding struct {
	app     *app
	tenant  *tenant
	reading *bot.Reading
	in      rebuild.Input
	cards   map[string]bool // attacks that had a card before
}

// beginRebuild reads the account's channels if it has no state; else it returns nil. Where there were cards before, it restores what is needed to watch the account
// and to post: a new incident must not wait for the threads, which may take an hour. Only finish has what may be changed.
func (a *app) beginRebuild(ctx context.Context, account string) (r *rebuilding, err error) {
	if epoch, err := a.store.Epochs.Epoch(ctx, account); err != nil || epoch != "" {
		return nil, err
	}
	t := a.tenants[account]
	a.log.Info("the account's state is empty: rebuilding it from slack", "account", account, "channels", len(t.cfg.Channels()))
	back := max(2*t.cfg.Lookback, t.Policy.Longest) + time.Hour // a change's message is posted a little after the change
	reading := a.server.ReadHistory(bot.History{Account: account, Channels: t.cfg.Channels(), Oldest: a.clocks.Outside().Add(-back)})
	defer func() {
		if err != nil {
			reading.Close()
		}
	}()
	found, is, err := reading.Peek(ctx)
	if err == nil && is {
		if err = delay.Sleep(ctx, a.settle); err == nil {
			found, err = reading.ReadChannels(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	in := rebuild.Input{Account: t.Account, Channels: t.cfg.Channels(), Found: found, Now: a.clocks.ServiceNow(account)}
	r = &rebuilding{app: a, tenant: t, reading: reading, in: in, cards: map[string]bool{}}
	for id := range found.Cards {
		r.cards[id] = true
	}
	if cards := rebuild.Cards(in); !found.Nothing() {
		_, err = a.store.Epochs.Restore(ctx, account, cards)
		a.log.Info("the account's cards are back: reading the threads under them", "account", account, "cards", len(cards.Cards))
	}
	return r, err
}

// watched reports whether the account can be watched before the rebuild is finished. At a first start, which is one at which nothing is found, it can't be.
func (r *rebuilding) watched() bool { return !r.in.Found.Nothing() }

// finish reads the threads and begins the account's state.
func (r *rebuilding) finish(ctx context.Context) (err error) {
	defer r.reading.Close()
	a, account := r.app, r.tenant.Name
	if r.in.Found, err = r.reading.ReadThreads(ctx); err != nil {
		return err
	}
	r.in.Epoch = store.NewEpoch()
	if !r.in.Found.Nothing() {
		if r.in.Entries, err = a.entries(ctx, account); err != nil {
			r.in.NoLists = true
			a.log.Error("read the service's lists: entries that no message holds stay unknown", "account", account, "err", err)
		}
	}
	r.in.Now = a.clocks.ServiceNow(account) // which reading its lists may have told
	begins := rebuild.State(r.in)
	if begun, err := a.store.Epochs.Restore(ctx, account, begins); err != nil || !begun {
		return err // another replica was faster, and posts the events
	}
	a.log.Info("the account's state begins", "account", account, "epoch", begins.Epoch, "cards", len(begins.Cards), "changes", len(begins.Changes))
	return nil
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
