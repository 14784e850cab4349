// Package bot receives what people click and type in Slack, and answers them.
package bot

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Verbs knows what a line is before it is run; *commands.Runner is one. An interface because tests need lines that
// change something without all that a Runner needs.
type Verbs interface {
	Changes(l record.Line) bool
	Missing(l record.Line, attack string) bool
	Fillable(l record.Line) bool
	InThread(l record.Line, attack string) record.Line
}

// Runner carries out what people ask for; *commands.Runner is one. An interface because tests need one that hangs at a
// chosen step, and waits in synthetic time.
type Runner interface {
	Do(ctx context.Context, inv call.Invocation) (call.Result, error)
	// Refuses reports whether a line is surely refused for who asks it.
	Refuses(ctx context.Context, inv call.Invocation) bool
	Form(ctx context.Context, inv call.Invocation) (call.Form, error)
	// May refuses who may not run a line. It runs nothing.
	May(ctx context.Context, inv call.Invocation) error
	// Permitted reports of each line whether who asks may fill it in and run it on an account, and says what is left out;
	// nil: nothing is.
	Permitted(ctx context.Context, inv call.Invocation, account string, lines []record.Line) (may []bool, left text.Text)
}

// Inbox takes deliveries once and keeps those that change something until they are carried out. An
// interface because tests need one that hangs, and hands over what they choose, in synthetic time.
type Inbox interface {
	// Ping reports whether it can be written.
	Ping(ctx context.Context) error
	// Accept writes work down under the names of its delivery; fresh is false if one of them was known already. Work of
	// one lane is carried out in order. If the lane is full, nothing is written down, and waiting is how many wait in it;
	// else it is 0. After an error the outcome is unknown.
	Accept(ctx context.Context, work []byte, lane record.Lane, names ...string) (fresh bool, waiting int, err error)
	// First reports whether a user's delivery comes for the first time.
	First(ctx context.Context, user string, names ...string) (bool, error)
	// Work hands over what was accepted, each lane's oldest first, until its context ends.
	Work(ctx context.Context, handle func(Piece)) error
}

// Piece is work that was handed over; *store.Piece is one. An interface because tests need one that another replica
// takes meanwhile.
type Piece interface {
	Work() []byte
	// Mine reports whether it is still this replica's.
	Mine(ctx context.Context) bool
	// Pass has the lane's next piece handed over before this one is done.
	Pass(ctx context.Context) error
	// Done ends it, and passes the turn unless Pass did.
	Done(ctx context.Context) error
}

// Notifier posts and redraws; *notify.Notifier is one. An interface because a test of what comes in needs none that
// works.
type Notifier interface {
	// Owns reports whether this replica owns an account.
	Owns(account string) bool
	// MarkActed has a card redrawn soon because a person acted.
	MarkActed(ctx context.Context, account, attack string) error
	// Post puts a message that no event is about into a channel once.
	Post(ctx context.Context, p notify.Post) error
	// Situation is what is decided from about an attack; known is false if it expired, or was not seen again since the
	// store was rebuilt.
	Drawn(ctx context.Context, account, attack string) (s call.Situation, known bool, err error)
}

// Config is what a Server works with. All must be set but what says otherwise, and Secret, or Links and Slack's app
// token.
type Config struct {
	Slack    *slackconn.Client
	Secret   apiclient.Secret // signs Slack's requests; "": none are received over HTTP
	Links    slackconn.Links  // shares the app's Socket Mode links among the replicas
	Runner   Runner
	Verbs    Verbs
	Notifier Notifier
	Inbox    Inbox
	Accounts []notify.Account
	Command  string // the slash command, for messages that name it

	// AttackAt finds the attack whose card a message is; "": none.
	AttackAt func(ctx context.Context, account, channel, ts string) (attack string, err error)
	// PagerSecret signs what the pager of that name sends; "": there is none. nil: none acknowledges.
	PagerSecret func(name string) apiclient.Secret
	// Called is the attack, or the test card, for which a pager was called and pages people still, by the call's id; "" if
	// there is none.
	Called func(ctx context.Context, pager, id string) (account, attack string, err error)

	Damaged       func(ctx context.Context) []string      // what Redis held and can't be read
	Broken        func() map[string]string                // sources whose files can't be read, and why
	Configuration func() Configuration                    // how it stands; nil: it isn't shown
	State         func(ctx context.Context) metrics.State // for /metrics, but for what the Server knows
	Metrics       *metrics.Metrics
	Log           *slog.Logger
	Clocks        *clock.Clocks
}

// Server receives what people click and type, over HTTP and Socket Mode, and shows them what happens. It serves health
// and metrics, too.
type Server struct {
	*ingress
	*slackconn.Socket
	worker   *worker
	large    chan struct{} // bodies that are being read beyond their first freeBody
	readings sync.Map      // account → how far its rebuild is
	sent     atomic.Int64  // when a signed request last came over HTTP, Unix time; 0: never yet
	events   atomic.Bool   // an event came over HTTP since the start
}

// Rebuilding has /readyz show how far the rebuild of an account's state is; "": it is over.
func (s *Server) Rebuilding(account, progress string) { s.readings.Store(account, progress) }

// New makes a Server. It receives nothing yet.
func New(cfg Config) *Server {
	in := &ingress{&requests{
		Config: &cfg, log: &sampledLog{log: cfg.Log}, draws: make(chan struct{}, maxDraws),
		open: make(chan struct{}, maxReads), homes: map[string]*reply{},
	}}
	return &Server{
		ingress: in, worker: newWorker(in), large: make(chan struct{}, maxLarge),
		Socket: slackconn.NewSocket(slackconn.SocketConfig{
			Slack: cfg.Slack, Links: cfg.Links, Handle: in.Envelope, Log: cfg.Log, Alone: cfg.Secret == "",
			Opens: cfg.Metrics.SocketOpens, Acknowledged: cfg.Metrics.Acknowledged,
		}),
	}
}

// logEvery is how often a warning is logged again that a flood repeats.
const logEvery = 5 * time.Second

// sampledLog logs what a flood repeats: a warning of each cause every five seconds at most.
type sampledLog struct {
	log    *slog.Logger
	causes sync.Map // words → *rate.Sometimes
}

// warn logs a warning. Its words are the cause, and there are few causes; what differs is in the attributes.
func (s *sampledLog) warn(ctx context.Context, words string, attributes ...any) {
	of, _ := s.causes.LoadOrStore(words, &rate.Sometimes{Interval: logEvery})
	of.(*rate.Sometimes).Do(func() { s.log.WarnContext(ctx, words, attributes...) })
}
