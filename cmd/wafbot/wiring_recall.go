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

// settleFor is how long something that a dying replica sent to Slack can still arrive: for as long as its lease, and its last request, last.
const settleFor = 14 * time.Second

// listsTimeout is how long to wait for the service's lists, without which what is in force is read back all the same.
const listsTimeout = 30 * time.Second

// recallPatience is how long a terminal waits for Slack and Redis. A bot that runs waits longer.
const recallPatience = 2 * time.Minute

// recallFor recalls the accounts that a line at the terminal may change, and says so to a person, who waits. Of one that can't be recalled the
// line itself says so.
func (a *app) recallFor(ctx context.Context, line record.Line, t terminal) {
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	for _, account := range a.cfg.Accounts {
		if named := line.Keys["account"]; named != "" && named != account.Name || !a.tells(account.Name) {
			continue
		}
		epoch, err := a.store.Epochs.Epoch(ctx, account.Name)
		if err == nil && epoch == "" {
			if t.asks {
				fmt.Fprintf(t.err, "wafbot: its store (Redis) is empty: reading back from Slack what was told of %s\n", account.Name)
			}
			err = a.recall(ctx, account.Name)
		}
		if err != nil {
			a.log.Error("read the account's memory back", "account", account.Name, "err", err)
		}
	}
}

// recall begins an account's memory when there is none: at a first start, and after Redis was emptied. Then what was told and what is in force is
// read back from Slack; before that nothing of the account may be told or changed. A first start is one at which nothing is found.
func (a *app) recall(ctx context.Context, account string) error {
	if epoch, err := a.store.Epochs.Epoch(ctx, account); err != nil || epoch != "" {
		return err
	}
	cfg := a.configured(account)
	a.log.Info("the account's memory is empty: reading back what was told", "account", account, "channels", len(cfg.Channels()))
	found, err := a.readBack(ctx, cfg, true)
	if err == nil && found.Spoken {
		if err := delay.Sleep(ctx, a.settle); err != nil {
			return err
		}
		found, err = a.readBack(ctx, cfg, false)
	}
	if err != nil {
		return err
	}
	r := a.recalled(ctx, cfg, found)
	if begun, err := a.store.Epochs.Restore(ctx, account, r); err != nil || !begun {
		return err // somebody else was faster, and has it told
	}
	a.log.Info("the account's memory begins", "account", account, "epoch", r.Epoch, "cards", len(r.Cards), "changes", len(r.Changes))
	return nil
}

// readBack reads as far back as something can be told or in force, or only peeks whether there is anything.
func (a *app) readBack(ctx context.Context, cfg config.Account, peek bool) (bot.Found, error) {
	back := max(2*cfg.Lookback, a.cfg.Policy.LongestDuration) + time.Hour // its message comes a little after a measure
	return a.bot.ReadBack(ctx, bot.Back{Account: cfg.Name, Channels: cfg.Channels(), Oldest: time.Now().Add(-back), Peek: peek})
}

// recalled is the memory that begins with what was found.
func (a *app) recalled(ctx context.Context, cfg config.Account, found bot.Found) store.Rebuilt {
	r := store.Rebuilt{Epoch: store.NewEpoch()}
	now := time.Now().UTC()
	if found.Nothing() {
		if found.Blind {
			r.Events = []record.Event{poller.NewEmptied(cfg.Name, cfg.Channel, r.Epoch, record.RebuildFacts{Blind: true}, now)}
		}
		return r
	}
	r.At, r.FirstStart, r.Attacks = now, found.Began, map[string]record.AttackState{}
	for id, card := range found.Cards {
		r.Attacks[card.AttackID] = poller.Rebuild(card.CardFacts, now)
		r.Cards = append(r.Cards, store.Card{Attack: id, Channel: card.Channel, TS: card.TS})
	}
	var told []record.Change
	for _, id := range slices.Sorted(maps.Keys(found.Changes)) {
		told = append(told, found.Changes[id].Change)
	}
	entries, err := a.entries(ctx, cfg.Name)
	if err != nil {
		a.log.Error("read the service's lists: what no message told of stays unknown", "account", cfg.Name, "err", err)
	}
	known := change.Recall(a.tenants[cfg.Name], told, entries, now)
	r.Changes = known.Changes
	facts := record.RebuildFacts{Listed: len(known.Listed), Unknown: known.Unknown, NoLists: err != nil, Unread: found.Unread}
	r.Events = emptiedNews(cfg, found, r, facts)
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

// emptiedNews says in each channel what was read back from it; what concerns none of them, in the one for notices.
func emptiedNews(cfg config.Account, found bot.Found, r store.Rebuilt, facts record.RebuildFacts) []record.Event {
	cards, inForce := map[string]int{}, map[string]int{}
	for _, c := range r.Cards {
		cards[c.Channel]++
	}
	for _, ch := range r.Changes {
		if told, ok := found.Changes[ch.ID]; ok && ch.InForce(r.At) && ch.Amends() == "" {
			inForce[told.Channel]++
		}
	}
	var news []record.Event
	for i, channel := range cfg.Channels() {
		if i > 0 {
			if slices.Contains(found.Unread, channel) {
				continue
			}
			facts = record.RebuildFacts{}
		}
		facts.Cards, facts.InForce = cards[channel], inForce[channel]
		news = append(news, poller.NewEmptied(cfg.Name, channel, r.Epoch, facts, r.At))
	}
	return news
}

// tells reports whether what is done with the account is told in Slack. A terminal can do without: then there is nothing to read back from, and
// what it writes down is kept when somebody else reads back.
func (a *app) tells(account string) bool {
	return a.cfg.Slack.BotToken != "" && a.configured(account).Channel != ""
}
