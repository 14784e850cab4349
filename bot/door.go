package bot

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/metrics"
)

// Door is where deliveries come in, over HTTP and over Socket Mode links. Bots stand behind it one after another, when the configuration changes: no connection and no
// link ends then, with what is on its way.
type Door struct {
	log    *sampledLog
	socket *slackconn.Socket

	mu     sync.RWMutex
	behind *Bot
}

// NewDoor makes a Door. It opens nothing.
func NewDoor(api *slackconn.Client, links slackconn.Links, m *metrics.Metrics, log *slog.Logger) *Door {
	d := &Door{log: newSampledLog(log)}
	d.socket = slackconn.NewSocket(slackconn.SocketConfig{Slack: api, Links: links, Handler: d, Opens: m.SocketOpens, Acknowledged: m.Acknowledged, Log: log})
	return d
}

// Admit has a bot receive what comes in from now on, and returns when the one before has acknowledged what it received.
func (d *Door) Admit(b *Bot) {
	d.mu.Lock()
	before := d.behind
	d.behind = b
	d.mu.Unlock()
	if before != nil && before != b {
		before.received.Wait()
	}
}

// enter is the bot that receives, until leave is called.
func (d *Door) enter() (b *Bot, leave func()) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	d.behind.received.Add(1)
	return d.behind, d.behind.received.Done
}

// Envelope implements slackconn.Handler.
func (d *Door) Envelope(ctx context.Context, e slackconn.Envelope) *slack.ViewSubmissionResponse {
	b, leave := d.enter()
	defer leave()
	return b.server.ingress.Envelope(ctx, e)
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, leave := d.enter()
	defer leave()
	b.pages.ServeHTTP(w, r)
}

// Receive receives over Socket Mode until the context ends. It returns at once if there is no app token, and with an error if Slack refuses the
// token for good from the beginning.
func (d *Door) Receive(ctx context.Context) error { return d.socket.Receive(ctx) }

// linked is how many Socket Mode links can receive, and why the last one could not be opened or kept.
func (d *Door) linked() (open int, trouble string) { return d.socket.State() }
