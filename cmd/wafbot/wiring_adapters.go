package main

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/routing"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Muted implements poller.Preferences: the account's mutes, and sources that shall give no cards.
func (a *app) Muted(ctx context.Context, account string) (func(apiclient.Attack) bool, error) {
	all, err := a.Triage.OwnedMutes(ctx, account)
	now := a.clocks.ServiceNow(account)
	return func(attack apiclient.Attack) bool {
		_, muted := policy.Muted(all, attack, now)
		return muted || a.tenants[account].guards.Cardless(attack)
	}, err
}

// brokenSources says what is wrong with the files of sources, by the name of the source; of an account's own after the
// account's name.
func (a *app) brokenSources() map[string]string {
	broken := a.sources.Broken()
	for name, t := range a.tenants {
		for source, why := range t.sources.Broken() {
			broken[name+": "+source] = why
		}
	}
	return broken
}

// Routing reads what is stored of an attack's routing. After an error the answer holds what was read before it.
func (a *app) Routing(ctx context.Context, account string, attack apiclient.Attack) (call.Routing, error) {
	id := record.AttackID(account, attack.ID)
	var s routing.State
	var err error
	s.Attack, _, err = a.Attacks.AttackState(ctx, account, id)
	if err == nil {
		s.Page, err = a.Triage.Page(ctx, account, id)
	}
	if err == nil {
		var card record.Place
		card, err = a.Cards.Card(ctx, account, id)
		s.Card = card.Channel
	}
	return routing.Explain(a.tenants[account].Account, a.cfg.Timezone, attack, s, a.clocks.ServiceNow(account)), err
}

// StillTrying is for commands.Config: only the poller of an account that this replica owns knows which attacks are
// ongoing.
func (a *app) StillTrying(account string, addresses []netip.Addr) bool {
	return a.tenants[account].poller.StillTrying(addresses)
}

// GoesOn is for commands.Config. Only the owner's poller knows it, too.
func (a *app) GoesOn(account, attack string) bool {
	return a.tenants[account].poller.GoesOn(func(id string) bool { return record.AttackID(account, id) == attack })
}

// Changed is for commands.Config.
func (a *app) Changed(account string) {
	t := a.tenants[account]
	t.poller.RefreshSettings()
	t.efficacy.Refresh()
}

// CardLinks are where the cards of attacks can be opened, by attack, as far as that can be found out.
func (a *app) CardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	links := map[string]string{}
	places, err := a.Cards.CardsOf(ctx, account, attacks...)
	for attack, place := range places {
		if err == nil {
			links[attack], err = a.slack.Permalink(ctx, place.Channel, place.TS)
		}
	}
	if err != nil {
		return nil
	}
	return links
}

// efficacyStore is what judging mitigations reads and writes.
type efficacyStore struct {
	*store.Ledger
	*store.Triage
}

// inbox is the store's, as the server needs it.
type inbox struct {
	*store.Inbox
	store *store.Store
}

// Ping implements bot.Inbox.
func (i inbox) Ping(ctx context.Context) error { return i.store.Ping(ctx) }

// Work implements bot.Inbox.
func (i inbox) Work(ctx context.Context, handle func(bot.Piece)) error {
	return i.Inbox.Work(ctx, func(p *store.Piece) { handle(p) })
}

// called is the attack for which a pager was called and pages people still, by the call's id; "" if there is none.
func (a *app) called(ctx context.Context, pager, id string) (account, attack string, err error) {
	for _, t := range a.cfg.Accounts {
		routes := t.RoutesOf(pager)
		if len(routes) == 0 {
			continue
		}
		pages, err := a.Triage.Pages(ctx, t.Name)
		if err != nil {
			return "", "", err
		}
		for _, page := range pages {
			if page.ID == id && page.State == record.PageCalling && slices.Contains(routes, page.Route) {
				return t.Name, page.Attack, nil
			}
		}
	}
	return "", "", nil
}

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
	m.Polled, m.Reachable, m.LastGood, m.Attacks, m.Capped = h.Known(), h.Failing == "", h.LastGood, h.Attacks,
		h.Capped != ""
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
