// Package bot receives what people click and type in Slack, and answers them.
package bot

import (
	"cmp"
	"context"
	"log/slog"
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

// Config is what a Bot works with. Slack, Runner, Verbs, Notifier, Inbox, Cards and Accounts must be set, and Secret or Slack's app token.
type Config struct {
	Workspace string // its name; "": it is the only one
	Slack     *slackconn.Client
	Secret    apiclient.Secret // signs Slack's requests; "": none are received over HTTP
	Runner    Runner
	Verbs     Verbs
	Notifier  Notifier
	Inbox     Inbox
	Cards     Cards
	Accounts  []notify.Account
	Command   string           // the slash command, for messages that name it
	Metrics   *metrics.Metrics // nil: counted for nobody
	Log       *slog.Logger     // nil: discarded
	Clocks    *clock.Clocks    // nil: this machine's
}

// Bot receives what people click and type in one workspace, and shows them what happens. It knows the accounts of that workspace alone.
type Bot struct {
	cfg      Config
	log      *sampledLog
	requests *requests
	ingress  *ingress
	worker   *worker
	readings sync.Map // account → how far its rebuild is
}

// Rebuilding has /readyz show how far the rebuild of an account's state is; "": it is over.
func (b *Bot) Rebuilding(account, progress string) { b.readings.Store(account, progress) }

// New makes a Bot. It stands behind a Front.
func New(cfg Config) *Bot {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Clocks, cfg.Metrics = cmp.Or(cfg.Clocks, clock.New()), cmp.Or(cfg.Metrics, metrics.New())
	b := &Bot{cfg: cfg, log: newSampledLog(cfg.Log)}
	answers := &answers{&b.cfg, b.log, make(chan struct{}, maxDraws)}
	b.requests = &requests{cfg: &b.cfg, log: b.log, answers: answers, overload: cfg.Metrics.DroppedReads, open: make(chan struct{}, maxReads), homes: homes{next: map[string]*reply{}}}
	forms := &forms{&b.cfg, b.requests, answers}
	b.ingress = &ingress{&b.cfg, b.log, b.requests, forms}
	b.worker = &worker{cfg: &b.cfg, answers: answers, forms: forms, turns: newTurns()}
	return b
}
