package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
	"github.com/wafbot/wafbot/poller/storm"
)

// app is the bot put together from its configuration: the only place where its parts meet.
type app struct {
	cfg      *config.Config
	settle   time.Duration
	log      *slog.Logger
	store    *store.Store
	http     *http.Client  // asks the service for all accounts
	starts   *rate.Limiter // paces the accounts' first polls
	slack    *slackconn.Client
	sources  *config.SourceFiles
	policy   policy.Policy
	runner   *commands.Runner
	bot      *bot.Bot
	pollers  map[string]*poller.Poller
	tenants  map[string]*call.Account
	services map[string]commands.Service
	effects  map[string]*efficacy.EffectWatch   // by account
	pagers   map[string]map[string]*pager.Pager // by account
	calls    *prometheus.CounterVec
}

// build puts the parts together. Nothing is sent yet.
func build(cfg *config.Config, o botOptions) (*app, error) {
	log := o.log
	a := &app{cfg: cfg, settle: cmp.Or(o.settle, settleFor), log: log, http: apiclient.NewHTTP(), starts: rate.NewLimiter(startsPerSecond, 1), pollers: map[string]*poller.Poller{}, tenants: map[string]*call.Account{}, services: map[string]commands.Service{}, pagers: map[string]map[string]*pager.Pager{}, effects: map[string]*efficacy.EffectWatch{}, calls: pagerCalls()}
	var err error
	a.store, err = store.Open(store.Config{
		URL: cfg.Redis.URL.Reveal(), AuditKeep: cfg.Audit.Keep, Copies: cfg.Redis.WaitReplicas, Away: a.redisAway, Follow: a.following, Watched: a.watched, Judged: a.judged, Notice: a.notice,
		Asked: a.asked,
	})
	if err != nil {
		return nil, err
	}
	a.sources, a.policy = config.NewSourceFiles(cfg, log), cfg.Policy.Guards()
	a.policy.Sources = a.sources.Now
	a.slack = slackconn.Connect(slackconn.Config{Token: cfg.Slack.BotToken, AppToken: cfg.Slack.AppToken, APIURL: cfg.Slack.APIURL, People: a.store.People, Log: log})
	var accounts []*call.Account
	var tenants []bot.Account
	for _, account := range cfg.Accounts {
		tenant, err := a.account(account)
		if err != nil {
			return nil, err
		}
		a.effects[account.Name] = efficacy.NewEffectWatch(tenant.Account, efficacyStore{a.store.Ledger, a.store.Triage}, o.speed)
		accounts, a.tenants[account.Name] = append(accounts, tenant.Account), tenant.Account
		tenants = append(tenants, tenant)
		if a.pagers[account.Name], err = account.Pagers(); err != nil {
			return nil, err
		}
	}
	roles, err := cfg.Policy.Roles()
	if err != nil {
		return nil, err
	}
	a.runner = commands.New(commands.Config{
		Accounts: accounts, Services: a.services, Policy: a.policy, Roles: roles, Members: a.slack, Ledger: ledger{a.store.Ledger, a.store.Epochs, a.tells},
		Facts: a.store.Attacks, Scenes: a.store.Triage, Records: a.store.Attacks, Audit: a.store.Audit,
		AuditOut: &lineWriter{out: o.audit}, AuditKeep: cfg.Audit.Keep, Log: log, Zone: cfg.Timezone, Changed: a.follow, Health: a.health,
		Desk: a.store.Triage, Storms: a.store.Attacks, Ties: a.store.Permissions, Requests: a.store.Approvals, Asked: a.wakeAsked, Watch: watch(a.pollers), Touched: a.touched, Explain: a.explain,
		TookOver: a.tookOver, CardLinks: a.cardLinks, Drills: drillStore{a.store.Drills, a.store.Replicas}, Drilled: a.drilled,
	})
	a.bot = bot.New(bot.Config{
		Slack: a.slack, Secret: cfg.Slack.SigningSecret, Command: cfg.Slack.Command, Runner: a.runner, Verbs: a.runner, Memory: newBotStore(a.store), Accounts: tenants, Policy: a.policy, Broken: a.sources.Broken, Roles: roles,
		Runbooks: cfg.Runbooks, MessagesPerSecond: cfg.Slack.MessagesPerSecond, Burst: cfg.Slack.Burst, EditsPerMinute: cfg.Slack.EditsPerMinute, Log: log,
		Collectors: []prometheus.Collector{a.calls},
	})
	return a, nil
}

// startsPerSecond are the accounts that are first polled in a second, when many are taken up at once: a first poll reads everything.
const startsPerSecond = 200

// account puts one tenant together, with its poller.
func (a *app) account(cfg config.Account) (bot.Account, error) {
	api, err := apiclient.New(apiclient.Config{BaseURL: cfg.APIURL, Token: cfg.Token, TokenFile: cfg.TokenFile, ClientID: cfg.ClientID, HTTP: a.http})
	if err != nil {
		return bot.Account{}, fmt.Errorf("account %s: %w", cfg.Name, err)
	}
	p := poller.New(poller.Config{
		Account: cfg.Name, API: api, Store: a.store.Attacks, Notifier: a, Interval: cfg.PollInterval, Lookback: cfg.Lookback, OngoingFor: cfg.OngoingFor,
		Routes: cfg.PollerRoutes(), Preferences: a, Observer: a, Storm: storm.Config(cfg.Storm),
		Channel: cfg.Channel, Log: a.log, Starts: a.starts, QuietHours: cfg.Quiet.In(a.cfg.Timezone),
	})
	a.pollers[cfg.Name] = p
	a.services[cfg.Name] = commands.Service{Reader: api, Writer: api}
	return bot.Account{
		Account: &call.Account{
			Name: cfg.Name, Lookback: cfg.Lookback, OngoingFor: cfg.OngoingFor, ConsoleURL: cfg.ConsoleURL, Applications: cfg.CommandApplications(),
		},
		Channel: cfg.Channel, Settings: p.Settings, Health: p.Health, Vuln: titles(api, a.log),
	}, nil
}

// Wake implements poller.Notifier: it passes events on to the bot, which is put together after the pollers.
func (a *app) Wake(account string, news []record.Event) { a.bot.Wake(account, news) }

// titles looks the titles of vulnerabilities up, each once.
func titles(api *apiclient.Client, log *slog.Logger) func(context.Context, string) (string, bool) {
	var mu sync.Mutex
	known := map[string]string{}
	return func(ctx context.Context, id string) (string, bool) {
		mu.Lock()
		title, ok := known[id]
		mu.Unlock()
		if ok {
			return title, title != ""
		}
		for v, err := range api.Vulnerabilities(ctx, apiclient.VulnFilter{}) {
			if err != nil {
				log.Warn("look up vulnerability", "err", err)
				return "", false
			}
			if v.ID == id {
				title = v.Title
				break
			}
		}
		mu.Lock()
		known[id] = title
		mu.Unlock()
		return title, title != ""
	}
}

// healthTimeout bounds asking Redis how another replica's polling goes.
const healthTimeout = time.Second

// health is how polling an account goes: in this process, else as the replica that polls it has told Redis.
func (a *app) health(account string) (call.HealthNow, bool) {
	if p, ok := a.pollers[account]; ok {
		if h := p.Health(); !h.LastGood.IsZero() || h.Failing != "" {
			return call.HealthNow{LastGood: h.LastGood, Failing: h.Failing, Since: h.Since}, true
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	good, blind, err := a.store.Attacks.LastPoll(ctx, account)
	return call.HealthNow{LastGood: good, Failing: blind.Why, Since: blind.From}, err == nil && !good.IsZero()
}

// follow has this replica, if it tends the account, show at once what a change did.
func (a *app) follow(_ context.Context, ch record.Change) {
	if p, ok := a.pollers[ch.Account]; ok {
		p.RefreshSettings()
		a.effects[ch.Account].Again()
	}
	if ch.AttackID != "" {
		a.bot.Redraw(ch.Account)
	}
	a.bot.Wake(ch.Account, a.following(ch))
}

// following is the news of a change that was written down: every one that came to an end is told. Of one that was taken back the undo tells,
// which is a change of its own, unless nothing of it was left. What could not be ended when it was due is tried each minute, which is not told each minute.
func (a *app) following(ch record.Change) []record.Event {
	unfinished := ch.State == record.StateBegun && ch.Fault == ""
	toldElsewhere := ch.State == record.StateFailed && ch.Actor.Via == record.ViaClock
	if unfinished || toldElsewhere || ch.State == record.StateUndone && !ch.Gone {
		return nil
	}
	return []record.Event{bot.Announcement(ch, a.configured(ch.Account).Channel)}
}

// announce has news told that no poll found.
func (a *app) announce(ctx context.Context, n record.Event) {
	if err := a.store.Outbox.Announce(ctx, n); err != nil {
		a.log.Error("announce news", "account", n.Account, "reason", n.Reason, "err", err)
		return
	}
	a.bot.Wake(n.Account, []record.Event{n})
}

// configured is the configuration of an account.
func (a *app) configured(account string) config.Account {
	return a.cfg.Accounts[slices.IndexFunc(a.cfg.Accounts, func(c config.Account) bool { return c.Name == account })]
}

// redisAway says once that Redis is away, and once that it is back.
func (a *app) redisAway(err error) {
	if err != nil {
		a.log.Error("redis can't be reached: until it can nothing is told and nothing is changed", "err", err)
		return
	}
	a.log.Info("redis is back")
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
