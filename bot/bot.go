// Package bot receives what people click and type in Slack, and answers them.
package bot

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Runner carries out what people ask for; *commands.Runner is one.
type Runner interface {
	Do(ctx context.Context, inv call.Invocation) (call.Result, error)
	// Refuses reports whether a line is surely refused for who asks it.
	Refuses(ctx context.Context, inv call.Invocation) bool
	Form(ctx context.Context, inv call.Invocation) (call.Form, error)
	// May refuses who may not run a line. It runs nothing.
	May(ctx context.Context, inv call.Invocation) error
	// Permitted reports of each line whether who asks may fill it in and run it on an account, and says what is left out; nil: nothing is.
	Permitted(ctx context.Context, inv call.Invocation, account string, lines []record.Line) (may []bool, left text.Text)
}

// Verbs knows what a line is before it is run; *commands.Runner is one.
type Verbs interface {
	Changes(l record.Line) bool
	Missing(l record.Line, attack string) bool
	Fillable(l record.Line) bool
	InThread(l record.Line, attack string) record.Line
}

// Inbox takes deliveries once and keeps those that change something until they are carried out.
type Inbox interface {
	// Accept writes work down under the names of its delivery; fresh is false if one of them was known already. Work of one lane is carried out in order.
	// If the lane is full, nothing is written down, and waiting is how many wait in it; else it is 0. After an error the outcome is unknown.
	Accept(ctx context.Context, work []byte, lane record.Lane, names ...string) (fresh bool, waiting int, err error)
	// First reports whether a user's delivery comes for the first time.
	First(ctx context.Context, user string, names ...string) (bool, error)
	// Work hands over what was accepted, each lane's oldest first, until its context ends.
	Work(ctx context.Context, handle func(Piece)) error
}

// Piece is work that was handed over; *store.Piece is one.
type Piece interface {
	Work() []byte
	// Mine reports whether it is still this replica's.
	Mine(ctx context.Context) bool
	// Pass has the lane's next piece handed over before this one is done.
	Pass(ctx context.Context) error
	// Done ends it, and passes the turn unless Pass did.
	Done(ctx context.Context) error
}

// Cards finds the card that a message is.
type Cards interface {
	AttackAt(ctx context.Context, account, channel, ts string) (attack string, err error)
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
	// Situation is what is decided from about an attack; known is false if it expired, or was not seen again since the store was rebuilt.
	Drawn(ctx context.Context, account, attack string) (c card.Card, known bool, err error)
}

// State reads how this replica is, but for what the Bot itself knows.
type State interface {
	Metrics(ctx context.Context) metrics.State
}

// Config is what a Bot works with. Slack, Runner, Verbs, Notifier, Inbox, Links, Cards, Redis and Accounts must be set, and Secret or Slack's app token.
type Config struct {
	Slack         *slackconn.Client
	Secret        apiclient.Secret // signs Slack's requests; "": none are received over HTTP
	Runner        Runner
	Verbs         Verbs
	Notifier      Notifier
	Inbox         Inbox
	Door          *Door           // nil: one of its own, over Links
	Links         slackconn.Links // of a Door of its own
	Cards         Cards
	Redis         Redis
	Accounts      []notify.Account
	Command       string                   // the slash command, for messages that name it
	Pagers        Pagers                   // nil: none acknowledges
	Webhooks      func() map[string]string // those that don't take events, and why; nil: there are none
	Broken        func() map[string]string // the sources whose files can't be read, and why; nil: there are no files
	Configuration func() Configuration     // how it stands; nil: it isn't shown
	Metrics       *metrics.Metrics         // nil: counted for nobody
	State         State                    // shown on /metrics
	Log           *slog.Logger             // nil: discarded
	Clocks        *clock.Clocks            // nil: this machine's
}

// Bot receives what people click and type, and shows them what happens.
type Bot struct {
	cfg      Config
	log      *sampledLog
	requests *requests
	server   *server
	worker   *worker
	pages    http.Handler
	received sync.WaitGroup // deliveries that aren't acknowledged yet
	readings sync.Map       // account → progress of its Reading
}

// New makes a Bot.
func New(cfg Config) *Bot {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Clocks, cfg.Metrics = cmp.Or(cfg.Clocks, clock.New()), cmp.Or(cfg.Metrics, metrics.New())
	if cfg.Door == nil {
		cfg.Door = NewDoor(cfg.Slack, cfg.Links, cfg.Metrics, cfg.Log)
	}
	b := &Bot{cfg: cfg, log: newSampledLog(cfg.Log)}
	answers := &answers{&b.cfg, b.log}
	b.requests = &requests{cfg: &b.cfg, log: b.log, answers: answers, overload: cfg.Metrics.DroppedReads, open: make(chan struct{}, maxReads)}
	forms := &forms{&b.cfg, b.requests, answers}
	ingress := &ingress{&b.cfg, b.log, b.requests, forms}
	b.server = &server{cfg: &b.cfg, log: b.log, ingress: ingress, metrics: cfg.Metrics}
	b.worker = &worker{cfg: &b.cfg, answers: answers, forms: forms, turns: newTurns()}
	b.pages = b.handler()
	return b
}

// Drain waits for the answers that are still being looked up, for at most as long as the context lasts.
func (b *Bot) Drain(ctx context.Context) { b.requests.wait(ctx) }

// Serve receives Slack's requests over HTTP, and answers probes, until the context ends.
func (b *Bot) Serve(ctx context.Context, l net.Listener) error {
	b.cfg.Door.Admit(b)
	return b.cfg.Door.Serve(ctx, l)
}

// Receive receives over Socket Mode until the context ends. It returns at once if there is no app token, and with an error if Slack refuses the
// token for good from the beginning.
func (b *Bot) Receive(ctx context.Context) error {
	b.cfg.Door.Admit(b)
	return b.cfg.Door.Receive(ctx)
}

// Work carries out stored requests: one person's on one account in order, all others side by side. It begins no request after more has ended, and
// returns when those in progress are done, or held ends.
func (b *Bot) Work(held, more context.Context) error { return b.worker.run(held, more) }

// handler serves Slack's requests, health and metrics.
func (b *Bot) handler() http.Handler {
	mux := http.NewServeMux()
	if b.cfg.Secret != "" {
		mux.HandleFunc("/slack/commands", b.server.signed(b.server.command))
		mux.HandleFunc("/slack/interactions", b.server.signed(b.server.interaction))
		mux.HandleFunc("/slack/events", b.server.signed(b.server.event))
	}
	if b.cfg.Pagers != nil {
		mux.HandleFunc("/pager/{name}", b.server.pager)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", b.ready)
	mux.Handle("/metrics", b.cfg.Metrics.Serve(b.state))
	return mux
}

// state is what /metrics shows beside what was counted.
func (b *Bot) state(ctx context.Context) (s metrics.State) {
	if b.cfg.State != nil {
		s = b.cfg.State.Metrics(ctx)
	}
	s.SocketLinks, _ = b.cfg.Door.linked()
	return s
}
