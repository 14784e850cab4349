// Package bot receives what people click and type in Slack, and answers them.
package bot

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// Runner carries out what people ask for; *commands.Runner is one.
type Runner interface {
	Do(ctx context.Context, inv call.Invocation) (call.Result, error)
	Form(ctx context.Context, inv call.Invocation) (call.Form, error)
}

// Verbs tells what a line is before it is run; *commands.Runner does.
type Verbs interface {
	Changes(l record.Line) bool
	Missing(l record.Line, attack string) bool
	Fillable(l record.Line) bool
	InThread(l record.Line, attack string) record.Line
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

// Outbox holds the news that must be told.
type Outbox interface {
	Waiting(ctx context.Context, account string) ([]record.Event, error)
	// Trying writes down that a delivery is about to be posted; again tells that it may have been posted before, told that it is recorded where.
	BeginNotify(ctx context.Context, account, delivery string, now time.Time) (first time.Time, again, told bool, err error)
	// Told takes news off, and remembers where its message is, and that it is its attack's card. double tells that another place is recorded.
	Notified(ctx context.Context, n record.Event, channel, ts string, card bool) (double bool, err error)
	// Announce puts a piece of news there, or in the place of the one with its id.
	Announce(ctx context.Context, n record.Event) error
}

// Cards remembers where cards are, which are outdated, and what they are about.
type Cards interface {
	Card(ctx context.Context, account, attack string) (channel, ts string, err error)
	AttackAt(ctx context.Context, account, channel, ts string) (attack string, err error)
	AttackState(ctx context.Context, account, attack string) (shown record.AttackState, ok bool, err error)
	Changes(ctx context.Context, account string) ([]record.Change, error)
	TriageOf(ctx context.Context, account, attack string) (record.Triage, error)
	// File is all that is stored about an attack beside the attack itself.
	Details(ctx context.Context, account, attack string) (record.AttackDetails, error)
	// Evidence is what is kept of an attack that was told; ok tells whether anything is.
	Evidence(ctx context.Context, account, attack string) (e record.Evidence, ok bool, err error)
	AllTriage(ctx context.Context, account string) (map[string]record.Triage, error)
	Stale(ctx context.Context, account string) (map[string]record.RedrawMark, error)
	MarkStale(ctx context.Context, account, attack string, urgency record.Urgency) error
	Redrawn(ctx context.Context, account, attack string, mark record.RedrawMark) error
}

// Pace gives out the right to post and to edit, over all replicas. Who keeps something leaves as much for what is more urgent.
type Pace interface {
	PostSlot(ctx context.Context, channel string, perSecond float64, burst, keep int) (wait time.Duration, err error)
	EditSlot(ctx context.Context, team string, perMinute, keep int) (wait time.Duration, err error)
}

// Memory is all that the bot remembers with.
type Memory interface {
	Inbox
	slackconn.Links
	Outbox
	Cards
	Notices
	Requests
	Drills
	Pace
	Ping(ctx context.Context) error
}

// Account is one tenant, as its cards and messages need it.
type Account struct {
	*call.Account
	Channel  string                                                       // for notices
	Settings func() poller.Settings                                       // lists and rules as last read; nil: never
	Health   func() poller.Health                                         // nil: not polled here
	Vuln     func(ctx context.Context, id string) (title string, ok bool) // the title of a vulnerability; nil: not known
}

// Config is what a Bot works with. Slack, Runner, Verbs, Memory and Accounts must be set, and Secret or Slack's app token.
type Config struct {
	Slack             *slackconn.Client
	Secret            apiclient.Secret // signs Slack's requests; "": none are received over HTTP
	Runner            Runner
	Verbs             Verbs
	Memory            Memory
	Accounts          []Account
	Command           string // the slash command, for messages that name it
	Policy            policy.Policy
	Broken            func() map[string]string // the sources whose files can't be read, and why; nil: there are no files
	Roles             policy.Roles
	Runbooks          map[string]string      // by attack type; "*" for the others
	MessagesPerSecond float64                // per channel; 0: as fast as Slack takes them
	Burst             int                    // how many at once, at least 1
	EditsPerMinute    int                    // in the workspace, at least 1
	Collectors        []prometheus.Collector // shown on /metrics beside the bot's own
	Log               *slog.Logger           // nil: discarded
	Now               func() time.Time       // nil: time.Now
}

// Bot receives what people click and type, and shows them what happens.
type Bot struct {
	cfg        Config
	background *background
	server     *server
	worker     *worker
	socket     *slackconn.Socket
	metrics    *metrics

	mu     sync.Mutex
	tended map[string]*tended // by account
}

// New makes a Bot.
func New(cfg Config) *Bot {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Bot{cfg: cfg, metrics: newMetrics(), tended: map[string]*tended{}}
	b.metrics.registry.MustRegister(cfg.Collectors...)
	b.metrics.registry.MustRegister(cfg.Slack.Collector())
	b.background = &background{cfg: &b.cfg, overload: b.metrics.overload, open: make(chan struct{}, maxReads)}
	answers, queue := &answers{&b.cfg}, &queue{&b.cfg}
	forms := &forms{cfg: &b.cfg, background: b.background, queue: queue, answers: answers, attacks: b}
	ingress := &ingress{cfg: &b.cfg, background: b.background, queue: queue, answers: answers, forms: forms}
	b.server = &server{cfg: &b.cfg, ingress: ingress, metrics: b.metrics}
	b.worker = &worker{cfg: &b.cfg, answers: answers, forms: forms, cards: b}
	b.socket = slackconn.NewSocket(slackconn.SocketConfig{
		Slack: cfg.Slack, Links: cfg.Memory, Handler: ingress, Opens: b.metrics.opens, Acknowledged: b.metrics.acknowledged, Log: cfg.Log,
	})
	b.metrics.gauge("socket_links", "Socket Mode links that can receive.", func() float64 { open, _ := b.socket.State(); return float64(open) })
	b.metrics.gauge("news_waiting", "News that waits to be told, of the accounts that this replica tends.", func() float64 { return float64(b.behind().news) })
	b.metrics.gauge("cards_outdated", "Cards that wait to be redrawn, of the accounts that this replica tends.", func() float64 { return float64(b.behind().cards) })
	b.metrics.gauge("cards_outdated_seconds", "Since when the oldest of them waits.", func() float64 { return b.behind().oldest.Seconds() })
	return b
}

// Drain waits for the answers that are still being looked up, for at most as long as the context lasts.
func (b *Bot) Drain(ctx context.Context) { b.background.wait(ctx) }

func (b *Bot) account(name string) (Account, bool) {
	i := slices.IndexFunc(b.cfg.Accounts, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return Account{}, false
	}
	return b.cfg.Accounts[i], true
}

// Handler serves Slack's requests, health and metrics.
func (b *Bot) Handler() http.Handler {
	mux := http.NewServeMux()
	if b.cfg.Secret != "" {
		mux.HandleFunc("/slack/commands", b.server.signed(b.server.command))
		mux.HandleFunc("/slack/interactions", b.server.signed(b.server.interaction))
		mux.HandleFunc("/slack/events", b.server.signed(b.server.event))
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", b.ready)
	mux.Handle("/metrics", b.metrics.handler())
	return mux
}
