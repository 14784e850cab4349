package main

import (
	"context"
	"fmt"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// open puts together what works for all accounts, which are known by now.
func (a *app) open() {
	var posted []notify.Account
	services := map[string]commands.Service{}
	for _, account := range a.cfg.Accounts {
		t := a.tenants[account.Name]
		posted = append(posted, notify.Account{
			Account: t.Account, Guards: t.guards, Settings: t.poller.Settings, Health: t.poller.Health,
			Page: func(ctx context.Context, page record.Page) error { return t.paging.Test(ctx, page) },
		})
		services[t.Name] = commands.Service{Lister: t.api, Writer: t.api}
	}
	a.runner = commands.New(commands.Config{
		Setup:    a.setup,
		Services: services, Members: a.slack, Store: a.Store, Rebuilds: a.posts,
		AuditOut: a.audit, Changes: a.metrics.Changes, Log: a.log, Clocks: a.clocks, Notifier: a, Health: a.Health,
		Sleep:       delay.Sleep,
		StillTrying: a.StillTrying, GoesOn: a.GoesOn, Changed: a.Changed, Routing: a.Routing, CardLinks: a.CardLinks,
	})
	s := a.cfg.Slack
	a.notifier = notify.New(notify.Config{
		Slack: a.slack, Runner: a.runner, Accounts: posted, Command: s.Command, Runbooks: a.cfg.Runbooks,
		MessagesPerSecond: s.MessagesPerSecond,
		Zone:              a.cfg.Timezone, Metrics: a.metrics, Log: a.log, Lines: a.audit, Clocks: a.clocks,
		Store: a.Store,
	})
	a.server = bot.New(bot.Config{
		Slack: a.slack, Secret: s.SigningSecret, Links: a.Store.Slack, Runner: a.runner, Verbs: a.runner, Notifier: a.notifier,
		Inbox: inbox{a.Inbox, a.Store}, AttackAt: a.Cards.AttackAt, Accounts: posted, Command: s.Command,
		PagerSecret: a.cfg.PagerSecret, Called: a.called,
		Damaged: func(ctx context.Context) []string { return a.Damaged(ctx, a.names()) },
		Broken:  a.brokenSources, Configuration: a.configuration, State: a.state, Metrics: a.metrics, Log: a.log, Clocks: a.clocks,
	})
}

// receive receives over Socket Mode until the context ends, or the app token is wrong.
func (a *app) receive(ctx context.Context) error {
	if err := a.server.Receive(ctx); err != nil {
		return fmt.Errorf("socket mode: %w; run wafbot doctor for details", err)
	}
	return nil
}
