// Package bot receives what people click and type in Slack, and answers them.
package bot

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
)

// Runner carries out what people ask for; *commands.Runner is one.
type Runner interface {
	Do(ctx context.Context, inv commands.Invocation) (commands.Result, error)
	Changes(l record.Line) bool
	Missing(l record.Line, attack string) bool
	Fillable(l record.Line) bool
	InThread(l record.Line, attack string) record.Line
	Form(ctx context.Context, inv commands.Invocation) (commands.Form, error)
}

// Inbox takes deliveries once and keeps those that change something until they are carried out.
type Inbox interface {
	// Accept writes work down under the names of its delivery; fresh is false if one of them was known already. After an error the outcome is unknown.
	Accept(ctx context.Context, work []byte, names ...string) (fresh bool, err error)
	// First reports whether a delivery comes for the first time.
	First(ctx context.Context, names ...string) (bool, error)
	// Work hands over what was accepted, oldest first, until its context ends. done is called when it is carried out; mine tells whether it is
	// still this replica's.
	Work(ctx context.Context, handle func(work []byte, mine func(context.Context) bool, done func(context.Context) error)) error
}

// Attacks reads what is stored about attacks and their cards.
type Attacks interface {
	CardAt(ctx context.Context, account, channel, ts string) (attack string, err error)
	Shown(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error)
	// File is all that is stored about an attack beside the attack itself.
	File(ctx context.Context, account, attack string) (record.AttackDetails, error)
}

// Redis is asked whether it can be written.
type Redis interface {
	Ping(ctx context.Context) error
}

// Notifier posts and redraws; *notify.Notifier is one.
type Notifier interface {
	// Owns reports whether this replica owns an account.
	Owns(account string) bool
	// MarkActed has a card redrawn soon because a person acted.
	MarkActed(ctx context.Context, account, attack string) error
	// Post puts a message that no event is about into a channel once.
	Post(ctx context.Context, p notify.Post) error
}

// Config is what a Bot works with. Slack, Runner, Notifier, Inbox, Links, Attacks, Redis and Accounts must be set, and Secret or Slack's app token.
type Config struct {
	Slack      *slackconn.Client
	Secret     apiclient.Secret // signs Slack's requests; "": none are received over HTTP
	Runner     Runner
	Notifier   Notifier
	Inbox      Inbox
	Links      slackconn.Links
	Attacks    Attacks
	Redis      Redis
	Accounts   []notify.Account
	Command    string // the slash command, for messages that name it; "": /waf
	Policy     commands.Policy
	Broken     func() map[string]string // the sources whose files can't be read, and why; nil: there are no files
	Roles      commands.Roles
	Collectors []prometheus.Collector // shown on /metrics beside the bot's own
	Log        *slog.Logger           // nil: discarded
	Now        func() time.Time       // nil: time.Now
}

// Bot receives what people click and type, and shows them what happens.
type Bot struct {
	cfg     Config
	reads   reads
	socket  *slackconn.Socket
	metrics *metrics
	server  *server
	forms   *forms
	homes   *homeTab
}

// New makes a Bot.
func New(cfg Config) *Bot {
	cfg.Command = cmp.Or(cfg.Command, "/waf")
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Bot{cfg: cfg, metrics: newMetrics()}
	b.metrics.registry.MustRegister(cfg.Collectors...)
	b.metrics.registry.MustRegister(cfg.Slack.Collector())
	b.server, b.forms, b.homes = &server{b}, &forms{b}, &homeTab{b}
	b.reads.open = make(chan struct{}, maxReads)
	b.socket = slackconn.NewSocket(slackconn.SocketConfig{
		Slack: cfg.Slack, Links: cfg.Links, Handler: b, Opens: b.metrics.opens, Acknowledged: b.metrics.acknowledged, Log: cfg.Log,
	})
	b.metrics.gauge("socket_links", "Socket Mode links that can receive.", func() float64 { open, _ := b.socket.State(); return float64(open) })
	return b
}

// Drain waits for the answers that are still being looked up, for at most as long as the context lasts.
func (b *Bot) Drain(ctx context.Context) { b.reads.wait(ctx) }

func (b *Bot) account(name string) (notify.Account, bool) {
	i := slices.IndexFunc(b.cfg.Accounts, func(a notify.Account) bool { return a.Name == name })
	if i < 0 {
		return notify.Account{}, false
	}
	return b.cfg.Accounts[i], true
}

// accountIn is the account whose channel it is, if it is only one's.
func (b *Bot) accountIn(channel string) string {
	name := ""
	for _, a := range b.cfg.Accounts {
		if a.Channel != channel {
			continue
		}
		if name != "" {
			return ""
		}
		name = a.Name
	}
	return name
}

// How many answers are looked up at the same time, and how many may wait for their turn.
const (
	maxReads   = 32
	maxWaiting = 1024
)

// reads are answers being looked up after their request was acknowledged.
type reads struct {
	open    chan struct{}
	waiting atomic.Int64
	wg      sync.WaitGroup
}

// start runs a read in the background, when it is its turn, or reports that far too many wait.
func (r *reads) start(read func()) bool {
	if r.waiting.Add(1) > maxWaiting {
		r.waiting.Add(-1)
		return false
	}
	r.wg.Go(func() {
		defer r.waiting.Add(-1)
		r.open <- struct{}{}
		defer func() { <-r.open }()
		read()
	})
	return true
}

func (r *reads) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { r.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Handler serves Slack's requests, health and metrics.
func (b *Bot) Handler() http.Handler {
	mux := http.NewServeMux()
	if b.cfg.Secret != "" {
		mux.HandleFunc("/slack/commands", b.server.signed(b.server.httpCommand))
		mux.HandleFunc("/slack/interactions", b.server.signed(b.server.httpInteraction))
		mux.HandleFunc("/slack/events", b.server.signed(b.server.httpEvent))
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", b.server.ready)
	mux.Handle("/metrics", b.metrics.handler())
	return mux
}
