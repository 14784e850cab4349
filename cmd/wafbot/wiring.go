package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/paging"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// app is the bot put together from its configuration: the only place where its parts meet.
type app struct {
	*store.Store
	botOptions

	cfg      *config.Config
	http     *http.Client        // asks the service for all accounts
	pace     *rate.Limiter       // of taking accounts up
	starts   *semaphore.Weighted // how many more are taken up at a time
	sources  *config.SourceFiles // of all accounts
	setup    call.Setup
	slack    *slackconn.Client
	runner   *commands.Runner
	notifier *notify.Notifier
	server   *bot.Server
	tenants  map[string]*tenant                         // by account
	left     atomic.Pointer[map[string][]record.Change] // what nothing ends, by account that isn't in the configuration; nil: it isn't known
	metrics  *metrics.Metrics

	misconfigured atomic.Bool // the configuration as it is now can't be used: the one before counts

	redisSaid string // why Redis can't be used, as it was logged last
}

// tenant is an account with what works for it alone.
type tenant struct {
	*config.Account

	guards   policy.Policy // its policy as it holds now
	api      *apiclient.Client
	poller   *poller.Poller // at a terminal it doesn't run
	efficacy *efficacy.Watch
	sources  *config.SourceFiles     // its own, beside those of all accounts
	pagers   map[string]*pager.Pager // by route
	paging   *paging.Paging          // while the account is owned here
}

// build puts the parts together. Nothing is sent yet.
func build(cfg *config.Config, o botOptions) (*app, error) {
	o.settle, o.clocks = cmp.Or(o.settle, settleFor), cmp.Or(o.clocks, clock.New())
	a := &app{
		botOptions: o, cfg: cfg, http: apiclient.NewHTTP(), metrics: metrics.New(), tenants: map[string]*tenant{},
		pace: rate.NewLimiter(startsPerSecond, 1), starts: semaphore.NewWeighted(startsAtATime),
	}
	var err error
	a.Store, err = store.Open(store.Config{
		Address: cfg.Redis.Address(), KeyPrefix: cfg.Redis.KeyPrefix, AuditKeep: cfg.Audit.Keep,
		Copies: cfg.Redis.WaitReplicas,
		Clocks: a.clocks, Off: cfg.Policy.Changes == config.ChangesOff, Away: a.redisAway,
		Damaged: func(names []string) { // once
			a.log.Error("redis held what can't be read: it is set aside, and the rest goes on", "keys", names)
		},
	})
	if err != nil {
		return nil, err
	}
	a.sources = config.NewSourceFiles(cfg.Sources, a.log)
	a.setup = call.Setup{Zone: cfg.Timezone, Off: a.Replicas.Off, StoreAway: a.Replicas.Away,
		Sources: func(account string) []config.Source {
			return append(a.sources.Now(), a.tenants[account].sources.Now()...)
		}}
	s := cfg.Slack
	a.slack = slackconn.Connect(slackconn.Config{
		Token: s.BotToken, AppToken: s.AppToken, APIURL: s.APIURL, People: a.Slack, Calls: a.metrics.SlackCalls, Log: a.log,
	})
	for i := range cfg.Accounts {
		t, err := a.tenant(i)
		if err != nil {
			return nil, err
		}
		a.tenants[t.Name] = t
		a.setup.Accounts = append(a.setup.Accounts, t.Account)
	}
	a.open()
	return a, nil
}

// tenant puts together what works for the configuration's i-th account.
func (a *app) tenant(i int) (*tenant, error) {
	cfg := a.cfg.Accounts[i]
	cfg.Policy = a.cfg.PolicyOf(i)
	service := a.clocks.Service(cfg.Name)
	api, err := apiclient.New(apiclient.Config{
		BaseURL: cfg.APIURL, Token: cfg.Token, TokenFile: cfg.TokenFile, ClientID: cfg.ClientID,
		HTTP: a.http, Note: service.Note, Log: a.log.With("account", cfg.Name),
	})
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", cfg.Name, err)
	}
	t := &tenant{Account: &cfg, guards: a.setup.PolicyOf(&cfg), api: api,
		sources: config.NewSourceFiles(cfg.Sources, a.log)}
	t.efficacy = efficacy.NewWatch(t.Account, efficacyStore{a.Ledger, a.Triage}, a.speed)
	t.poller = poller.New(poller.Config{
		Account: t.Account, Zone: a.cfg.Timezone, API: api, Clock: service, Store: a.Attacks, Notifier: a,
		Preferences: a, Judge: t.efficacy.Judge, Polls: a.metrics.Polls.WithLabelValues(t.Name), Log: a.log,
	})
	t.pagers, err = t.Pagers()
	return t, err
}

// Notify passes events on to the notifier, which is put together after the pollers and the commands.
func (a *app) Notify(account string, events []record.Event) {
	a.notifier.Notify(account, events)
}

// Saved passes on what a poll stored.
func (a *app) Saved(account string, u record.PollUpdate) { a.notifier.Saved(account, u) }

// Redraw passes on that cards are stale.
func (a *app) Redraw(account string) { a.notifier.Redraw(account) }

// healthTimeout bounds asking Redis how another replica's polling goes.
const healthTimeout = time.Second

// Health is how polling goes in this process, else as the account's owner has saved it.
func (a *app) Health(account string) (record.PollHealth, bool) {
	h, link := a.tenants[account].poller.Health(), a.server.Socket.State().Trouble
	if h.Link = link; h.Known() {
		return h, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	last, err := a.Attacks.LastPoll(ctx, account)
	return record.PollHealth{
		LastGood: last.LastGood, Failing: last.Outage.Why, Since: last.Outage.From,
		Capped: last.Cap.Says(), TooLong: last.Cap.TooLong, Link: link,
	}, err == nil && !last.LastGood.IsZero()
}

// redisAway logs once that Redis can't be used, and why, and once that it can again.
func (a *app) redisAway(err error) {
	if err == nil {
		a.redisSaid = ""
		a.log.Info("redis is back")
	} else if says := refusal.Redis(err); says != a.redisSaid {
		a.redisSaid = says
		a.log.Error("redis "+says+": until it works again nothing is posted and nothing is changed", "err", err)
	}
}

// lineWriter keeps lines of concurrent writers whole.
type lineWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

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
		Slack: a.slack, Secret: s.SigningSecret, Links: a.Store.Slack, Runner: a.runner, Verbs: a.runner,
		Notifier: a.notifier,
		Inbox:    inbox{a.Inbox, a.Store}, AttackAt: a.Cards.AttackAt, Accounts: posted, Command: s.Command,
		PagerSecret: a.cfg.PagerSecret, Called: a.called,
		Damaged: func(ctx context.Context) []string { return a.Damaged(ctx, a.names()) },
		Broken:  a.brokenSources, Configuration: a.configuration, State: a.state, Metrics: a.metrics, Log: a.log,
		Clocks: a.clocks,
	})
}

// receive receives over Socket Mode until the context ends, or the app token is wrong.
func (a *app) receive(ctx context.Context) error {
	if err := a.server.Receive(ctx); err != nil {
		return fmt.Errorf("socket mode: %w; run wafbot doctor for details", err)
	}
	return nil
}
