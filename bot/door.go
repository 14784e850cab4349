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

// Door is where deliveries come in, over HTTP and over Socket Mode links. A Front stands behind it.
type Door struct {
	log *sampledLog

	behind *Front

	mu      sync.RWMutex
	sockets map[string]*slackconn.Socket // by workspace
}

// NewDoor makes a Door. It opens nothing.
func NewDoor(log *slog.Logger) *Door {
	return &Door{log: newSampledLog(log), sockets: map[string]*slackconn.Socket{}}
}

// Admit has a Front receive what comes in.
func (d *Door) Admit(f *Front) { d.behind, f.door = f, d }

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.behind.pages.ServeHTTP(w, r) }

// Links are how a workspace delivers over Socket Mode.
type Links struct {
	Workspace string // its name; "": it is the only one
	Slack     *slackconn.Client
	Share     slackconn.Links // shares the links of its app among the replicas
	Metrics   *metrics.Metrics
	Log       *slog.Logger
}

// gate is where one workspace's links come in.
type gate struct {
	door      *Door
	workspace string
}

// Envelope implements slackconn.Handler. What comes from a workspace that isn't configured any more is acknowledged and dropped: its links are about to end.
func (g gate) Envelope(ctx context.Context, e slackconn.Envelope) *slack.ViewSubmissionResponse {
	b := g.door.behind.bots[g.workspace]
	if b == nil {
		g.door.log.warn(ctx, "drop delivery of a workspace that is not in the configuration", "workspace", g.workspace)
		return nil
	}
	return b.ingress.Envelope(ctx, e)
}

// Receive receives a workspace's deliveries over Socket Mode until the context ends. It returns at once if there is no app token, and with an error if Slack refuses
// the token for good from the beginning.
func (d *Door) Receive(ctx context.Context, l Links) error {
	s := slackconn.NewSocket(slackconn.SocketConfig{
		Slack: l.Slack, Links: l.Share, Handler: gate{d, l.Workspace}, Opens: l.Metrics.SocketOpens, Acknowledged: l.Metrics.Acknowledged, Log: l.Log,
	})
	d.mu.Lock()
	d.sockets[l.Workspace] = s
	d.mu.Unlock()
	return s.Receive(ctx)
}

// Linked reports whether a Socket Mode link of a workspace can receive.
func (d *Door) Linked(workspace string) bool {
	open, _ := d.linked(workspace)
	return open > 0
}

// linked is how many Socket Mode links of a workspace can receive, and why the last one could not be opened or kept.
func (d *Door) linked(workspace string) (open int, trouble string) {
	d.mu.RLock()
	s := d.sockets[workspace]
	d.mu.RUnlock()
	if s == nil {
		return 0, ""
	}
	return s.State()
}
