package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// slackSide is a workspace with what works for it. Its parts are made with the accounts of that workspace alone: what comes from there can reach no other, as there is none.
type slackSide struct {
	config.Slack

	client   *slackconn.Client
	store    *store.Store
	metrics  *metrics.Metrics
	log      *slog.Logger
	tenants  []*tenant // its accounts
	runner   *commands.Runner
	notifier *notify.Notifier
	bot      *bot.Bot
}

// sideOf is the side of a workspace. Only its client is made before its accounts are known.
func (a *app) sideOf(w config.Slack) *slackSide {
	if a.sides[w.Name] == nil {
		a.sides[w.Name] = newSide(w, a.store, a.metrics, a.log)
	}
	return a.sides[w.Name]
}

// newSide is a workspace's side with its client alone. Where there are several workspaces its log names it.
func newSide(w config.Slack, of *store.Store, m *metrics.Metrics, log *slog.Logger) *slackSide {
	s := &slackSide{Slack: w, store: of.In(w.Name), metrics: m.In(w.Name), log: log}
	if w.Name != "" {
		s.log = log.With("workspace", w.Name)
	}
	s.client = slackconn.Connect(slackconn.Config{Token: w.BotToken, AppToken: w.AppToken, APIURL: w.APIURL, People: s.store.People, Calls: s.metrics.SlackCalls, Log: s.log})
	return s
}

// open puts together what works for a workspace with its accounts.
func (s *slackSide) open(a *app) {
	s.runner = a.newRunner(s.tenants, s.client)
	var posted []notify.Account
	for _, t := range s.tenants {
		posted = append(posted, t.posted())
	}
	s.notifier = notify.New(notify.Config{
		Slack: s.client, Runner: s.runner, Accounts: posted, Command: s.Command, Runbooks: a.cfg.Runbooks,
		MessagesPerSecond: s.MessagesPerSecond, Zone: a.cfg.Timezone, Metrics: s.metrics, Log: s.log, Lines: a.auditOut, Clocks: a.clocks,
		Stores: notify.Stores{
			Outbox: a.store.Outbox, Cards: a.store.Cards, Attacks: a.store.Attacks, Triage: a.store.Triage, Changes: a.store.Ledger, Redraws: a.store.Cards,
			Permissions: a.store.Permissions, Approvals: a.store.Approvals, Drills: a.store.Drills, Pace: s.store.Pace,
		},
	})
	s.bot = bot.New(bot.Config{
		Workspace: s.Name, Slack: s.client, Secret: s.SigningSecret, Command: s.Command, Runner: s.runner, Verbs: s.runner, Notifier: s.notifier, Inbox: s.store.Inbox,
		Cards: a.store.Cards, Accounts: posted, Metrics: s.metrics, Log: s.log, Clocks: a.clocks,
	})
}

// links are the workspace's Socket Mode links.
func (s *slackSide) links() bot.Links {
	return bot.Links{Slack: s.client, Share: s.store.Links, Metrics: s.metrics, Log: s.log}
}

// newRunner makes a Runner that knows some accounts and no other.
func (a *app) newRunner(on []*tenant, members commands.Members) *commands.Runner {
	var accounts []*call.Account
	services := map[string]commands.Service{}
	for _, t := range on {
		accounts, services[t.Name] = append(accounts, t.Account), commands.Service{Reader: t.api, Aggregator: t.api, Writer: t.api}
	}
	return commands.New(commands.Config{
		Setup:    call.Setup{Accounts: accounts, Zone: a.cfg.Timezone},
		Services: services, Members: members, Ledger: ledger{a.store.Ledger, a.store.Epochs, a.posts},
		Attacks: a.store.Attacks, Contexts: a.store.Triage, History: a.store.Attacks, States: a.store.Attacks, Audit: a.store.Audit,
		AuditOut: a.auditOut, Changes: a.metrics.Changes, Log: a.log, Clocks: a.clocks, Notifier: a, Polling: a,
		Triage: a.store.Triage, Storms: a.store.Attacks, Permissions: a.store.Permissions, Approvals: a.store.Approvals, Watch: a, Router: a,
		Cards: a, Drills: a.store.Drills,
	})
}

// atTerminal is the Runner of a line at the terminal, where the accounts of all workspaces are. A line that names its account goes to that one's workspace, whose people
// it may name. Of several workspaces Slack says the id, which the configuration puts before those of people: who asks for approval is one of them.
func atTerminal(ctx context.Context, a *app, line record.Line) *commands.Runner {
	if t := a.tenants[line.Keys["account"]]; t != nil {
		if len(a.sides) > 1 && t.side.runner.Changes(line) {
			_, _ = t.side.client.Self(ctx) // else it isn't known who asks, and an admin must approve
		}
		return t.side.runner
	}
	if only := a.sides[""]; only != nil {
		return only.runner
	}
	var all []*tenant
	for _, account := range a.cfg.Accounts {
		all = append(all, a.tenants[account.Name])
	}
	return a.newRunner(all, anyones{})
}

// anyones are the people of several workspaces: an id alone says of none of them who it is.
type anyones struct{}

// Member implements commands.Members.
func (anyones) Member(_ context.Context, _, user string) (name, workspace string, full bool, err error) {
	return user, "", false, nil
}

// Groups implements commands.Members.
func (anyones) Groups(context.Context, string, []string) ([]string, error) { return nil, nil }

// receive receives a workspace's deliveries over Socket Mode until the context ends. If Slack refuses the token, the process ends only if it receives nothing else.
func receive(ctx context.Context, door *bot.Door, w config.Slack, l bot.Links) error {
	l.Workspace = w.Name
	switch err := door.Receive(ctx, l); {
	case err == nil:
		return nil
	case w.SigningSecret != "":
		l.Log.Error("no socket mode, clicks come over http only", "err", err)
		return nil
	case w.Name != "":
		l.Log.Error("no socket mode: nothing is received from this workspace until wafbot is started with a token that is right", "err", err)
		return nil
	default:
		return fmt.Errorf("socket mode: %w; run wafbot doctor for details", err)
	}
}
