package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
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
	cfg := a.configured(account)
	a.log.Info("the account's state is empty: rebuilding it from slack", "account", account, "channels", len(cfg.Channels()))
	found, err := a.readHistory(ctx, cfg, true)
	if err == nil && found.Any {
		if err := delay.Sleep(ctx, a.settle); err != nil {
			return err
		}
		found, err = a.readHistory(ctx, cfg, false)
	}
	if err != nil {
		return err
	}
	r := a.rebuilt(ctx, cfg, found)
	if begun, err := a.store.Epochs.Restore(ctx, account, r); err != nil || !begun {
		return err // another replica was faster, and posts the events
	}
	a.log.Info("the account's state begins", "account", account, "epoch", r.Epoch, "cards", len(r.Cards), "changes", len(r.Changes))
	return nil
}

// readHistory reads as far back as a message can hold an attack or a change in force; with peek it only looks whether there is any.
func (a *app) readHistory(ctx context.Context, cfg config.Account, peek bool) (bot.Found, error) {
	back := max(2*cfg.Lookback, a.cfg.Policy.LongestDuration) + time.Hour // a change's message is posted a little after the change
	return a.bot.ReadHistory(ctx, bot.History{Account: cfg.Name, Channels: cfg.Channels(), Oldest: time.Now().Add(-back), Peek: peek})
}

// rebuilt is the state that begins with what was found.
func (a *app) rebuilt(ctx context.Context, cfg config.Account, found bot.Found) store.Rebuilt {
	r := store.Rebuilt{Epoch: store.NewEpoch()}
	now := time.Now().UTC()
	if found.Nothing() {
		if found.Unreadable {
			r.Events = []record.Event{poller.StateRebuilt(cfg.Name, cfg.Channel, r.Epoch, record.RebuildFacts{Blind: true}, now)}
		}
		return r
	}
	r.At, r.FirstStart, r.Attacks = now, found.Began, map[string]record.AttackState{}
	for id, card := range found.Cards {
		r.Attacks[card.AttackID] = poller.Rebuild(card.CardMetadata, now)
		r.Cards = append(r.Cards, store.Card{Attack: id, Channel: card.Channel, TS: card.TS})
	}
	var posted []record.Change
	for _, id := range slices.Sorted(maps.Keys(found.Changes)) {
		posted = append(posted, found.Changes[id].Change)
	}
	entries, err := a.entries(ctx, cfg.Name)
	if err != nil {
		a.log.Error("read the service's lists: entries that no message holds stay unknown", "account", cfg.Name, "err", err)
	}
	known := change.Rebuild(a.tenants[cfg.Name], posted, entries, now)
	r.Changes = known.Changes
	facts := record.RebuildFacts{Listed: len(known.Listed), Unknown: known.Unknown, NoLists: err != nil, Unread: found.Unread}
	r.Events = rebuiltEvents(cfg, found, r, facts)
	return r
}

// entries are those on the service's lists.
func (a *app) entries(ctx context.Context, account string) (all []apiclient.IPRule, err error) {
	ctx, cancel := context.WithTimeout(ctx, listsTimeout)
	defer cancel()
	for e, err := range a.services[account].IPRules(ctx, apiclient.IPRuleFilter{}) {
		if err != nil {
			return nil, fmt.Errorf("read lists: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// rebuiltEvents says in each channel what was rebuilt from it; what concerns none of them, in the channel for notices.
func rebuiltEvents(cfg config.Account, found bot.Found, r store.Rebuilt, facts record.RebuildFacts) []record.Event {
	cards, inForce := map[string]int{}, map[string]int{}
	for _, c := range r.Cards {
		cards[c.Channel]++
	}
	for _, ch := range r.Changes {
		if posted, ok := found.Changes[ch.ID]; ok && ch.InForce(r.At) && ch.Parent() == "" {
			inForce[posted.Channel]++
		}
	}
	var events []record.Event
	for i, channel := range cfg.Channels() {
		if i > 0 {
			if slices.Contains(found.Unread, channel) {
				continue
			}
			facts = record.RebuildFacts{}
		}
		facts.Cards, facts.InForce = cards[channel], inForce[channel]
		events = append(events, poller.StateRebuilt(cfg.Name, channel, r.Epoch, facts, r.At))
	}
	return events
}

// posts reports whether the account's changes are posted to Slack. A terminal can do without: then there is nothing to rebuild from, and what it
// saves is kept when a replica rebuilds.
func (a *app) posts(account string) bool {
	return a.cfg.Slack.BotToken != "" && a.configured(account).Channel != ""
}
