package main

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/routing"
	"github.com/wafbot/wafbot/internal/record"
)

// Muted implements poller.Preferences: the account's mutes, and sources that shall give no cards.
func (a *app) Muted(ctx context.Context, account string) (func(apiclient.Attack) bool, error) {
	all, err := a.store.Triage.Mutes(ctx, account)
	now := time.Now()
	return func(attack apiclient.Attack) bool {
		_, muted := policy.Muted(all, attack, now)
		return muted || a.policy.Cardless(attack)
	}, err
}

// WantedCards implements poller.Preferences.
func (a *app) WantedCards(ctx context.Context, account string) (func(attackid string) bool, error) {
	all, err := a.store.Attacks.WantedCards(ctx, account)
	if len(all) == 0 {
		return nil, err
	}
	return func(attackid string) bool {
		_, wanted := all[record.AttackID(account, attackid)]
		return wanted
	}, err
}

// Routing implements commands.Router: it reads what is stored of an attack's routing. After an error the answer holds what was read before it.
func (a *app) Routing(ctx context.Context, account string, attack apiclient.Attack) (call.Routing, error) {
	cfg := a.configured(account)
	state, err := a.routed(ctx, account, record.AttackID(account, attack.ID))
	rules := routing.Rules{Routes: cfg.PollerRoutes(), Quiet: cfg.Quiet.In(a.cfg.Timezone), Hours: cfg.Quiet.Hours}
	return routing.Explain(rules, attack, state, time.Now()), err
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
