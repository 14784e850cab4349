package main

import (
	"context"
	"net/netip"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/routing"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Muted implements poller.Preferences: the account's mutes, and sources that shall give no cards.
func (a *app) Muted(ctx context.Context, account string) (func(apiclient.Attack) bool, error) {
	all, err := a.store.Triage.OwnedMutes(ctx, account)
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
	state, err := a.routed(ctx, account, record.AttackID(account, attack.ID))
	return routing.Explain(a.tenants[account].Account, a.cfg.Timezone, attack, state, a.clocks.ServiceNow(account)), err
}

func (a *app) routed(ctx context.Context, account, id string) (s routing.State, err error) {
	if s.Attack, _, err = a.store.Attacks.AttackState(ctx, account, id); err != nil {
		return s, err
	}
	if s.Page, err = a.store.Pages.Page(ctx, account, id); err != nil {
		return s, err
	}
	s.Card, _, err = a.store.Cards.Card(ctx, account, id)
	return s, err
}

// StillTrying is for commands.Config: only the poller of an account that this replica owns knows which attacks go
// on.
func (a *app) StillTrying(account string, addresses []netip.Addr) bool {
	p := a.tenants[account].poller
	return p != nil && p.StillTrying(addresses)
}

// GoesOn is for commands.Config, likewise.
func (a *app) GoesOn(account, attack string) bool {
	p := a.tenants[account].poller
	return p != nil && p.GoesOn(func(attackid string) bool { return record.AttackID(account, attackid) == attack })
}

// Changed is for commands.Config.
func (a *app) Changed(account string) {
	if t := a.tenants[account]; t.poller != nil {
		t.poller.RefreshSettings()
		t.efficacy.Refresh()
	}
}

// CardLinks are where the cards of attacks can be opened, by attack, as far as that can be found out.
func (a *app) CardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	places, err := a.store.Cards.CardsOf(ctx, account, attacks)
	if err != nil {
		return nil
	}
	links := map[string]string{}
	for attack, place := range places {
		link, err := a.slack.Permalink(ctx, place[0], place[1])
		if err != nil {
			return nil
		}
		links[attack] = link
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
