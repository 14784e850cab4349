package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
)

// Redis is asked whether it can be written.
type Redis interface {
	Ping(ctx context.Context) error
}

// State reads how this replica is, but for what the Bot itself knows.
type State interface {
	Metrics(ctx context.Context) metrics.State
}

// Stream holds the work that was accepted, of all workspaces.
type Stream interface {
	// Work hands over what was accepted, each lane's oldest first, until its context ends.
	Work(ctx context.Context, handle func(Piece)) error
}

// FrontConfig is what a Front works with. Redis and Stream must be set.
type FrontConfig struct {
	Redis         Redis
	Stream        Stream
	Pagers        Pagers                   // nil: none acknowledges
	Broken        func() map[string]string // the sources whose files can't be read, and why; nil: there are no files
	Configuration func() Configuration     // how it stands; nil: it isn't shown
	Metrics       *metrics.Metrics         // nil: counted for nobody
	State         State                    // shown on /metrics
	Log           *slog.Logger             // nil: discarded
	Clocks        *clock.Clocks            // nil: this machine's
}

// Front is what stands behind a Door: the bots of all workspaces, and the pages that are about all of them.
type Front struct {
	cfg   FrontConfig
	log   *sampledLog
	bots  map[string]*Bot // by workspace
	door  *Door
	pages http.Handler
}

// NewFront puts bots behind a front, each of another workspace.
func NewFront(cfg FrontConfig, bots ...*Bot) *Front {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Clocks, cfg.Metrics = cmp.Or(cfg.Clocks, clock.New()), cmp.Or(cfg.Metrics, metrics.New())
	f := &Front{cfg: cfg, log: newSampledLog(cfg.Log), bots: map[string]*Bot{}}
	f.door = NewDoor(cfg.Log)
	for _, b := range bots {
		f.bots[b.cfg.Workspace] = b
	}
	f.pages = f.handler()
	return f
}

// each are the bots by the names of their workspaces.
func (f *Front) each() (all []*Bot) {
	for _, name := range slices.Sorted(maps.Keys(f.bots)) {
		all = append(all, f.bots[name])
	}
	return all
}

// handler serves Slack's requests, health and metrics.
func (f *Front) handler() http.Handler {
	mux := http.NewServeMux()
	of := receiver{log: f.log, bodies: &bodies{}}
	for name, b := range f.bots {
		if b.cfg.Secret == "" {
			continue
		}
		path := slackconn.Path(name)
		s := &server{receiver: of.counting(b.cfg.Metrics), cfg: &b.cfg, ingress: b.ingress}
		mux.HandleFunc(path+"commands", s.signed(s.command))
		mux.HandleFunc(path+"interactions", s.signed(s.interaction))
		mux.HandleFunc(path+"events", s.signed(s.event))
	}
	if f.cfg.Pagers != nil {
		p := &pagerServer{receiver: of.counting(f.cfg.Metrics), pagers: f.cfg.Pagers, botOf: f.botOf}
		mux.HandleFunc("/pager/{name}", p.receive)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", f.ready)
	mux.Handle("/metrics", f.cfg.Metrics.Serve(f.state))
	return mux
}

// botOf is the bot of an account's workspace; nil: there is none.
func (f *Front) botOf(account string) *Bot {
	for _, b := range f.bots {
		if b.cfg.hasAccount(account) {
			return b
		}
	}
	return nil
}

// state is what /metrics shows beside what was counted.
func (f *Front) state(ctx context.Context) (s metrics.State) {
	if f.cfg.State != nil {
		s = f.cfg.State.Metrics(ctx)
	}
	said := f.askSlack(ctx)
	for i, b := range f.each() {
		links, _ := f.door.linked(b.cfg.Workspace)
		s.Workspaces = append(s.Workspaces, metrics.Workspace{Name: b.cfg.Workspace, Up: said[i] == nil, SocketLinks: links})
	}
	return s
}

// askSlack asks each workspace whether it takes wafbot's token, all at the same time.
func (f *Front) askSlack(ctx context.Context) (said []error) {
	bots := f.each()
	said = make([]error, len(bots))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slackPatience) // also after the client is gone: the result is cached
	defer cancel()
	var asked sync.WaitGroup
	for i, b := range bots {
		asked.Go(func() { said[i] = b.cfg.Slack.Usable(ctx) })
	}
	asked.Wait()
	return said
}

// Drain waits for the answers that are still being looked up, for at most as long as the context lasts.
func (f *Front) Drain(ctx context.Context) {
	for _, b := range f.bots {
		b.requests.wait(ctx)
	}
}

// Work carries out stored requests: one person's on one account in order, all others side by side. It begins no request after more has ended, and
// returns when those in progress are done, or held ends: then another replica continues them.
func (f *Front) Work(held, more context.Context) error {
	var strangers errgroup.Group
	err := f.cfg.Stream.Work(more, func(p Piece) {
		handed := time.Now()
		var req request
		if err := json.Unmarshal(p.Work(), &req); err != nil {
			f.cfg.Log.ErrorContext(held, "read accepted request", "err", err)
			_ = p.Done(held) // else another replica finds the same
			return
		}
		if b := f.bots[req.Workspace]; b != nil {
			b.worker.take(held, more, work{request: req, piece: p, at: handed})
			return
		}
		strangers.Go(func() error { f.strange(held, more, req, p); return nil })
	})
	for _, b := range f.bots {
		b.worker.turns.wait()
	}
	_ = strangers.Wait() // none fails
	return err
}

// strangeFor is how long a request may wait for a replica that knows its workspace: that long it takes until all have the same configuration.
const strangeFor = time.Minute

// strange leaves a request of a workspace that isn't in this configuration to the one after, or to another replica once this one ends. If there is none within a minute the
// request is given up: nobody could even be answered.
func (f *Front) strange(held, more context.Context, req request, p Piece) {
	held = req.within(held)
	if delay.Sleep(more, strangeFor) != nil {
		return
	}
	f.cfg.Log.ErrorContext(held, "not done: a request of a workspace that is not in the configuration", "workspace", req.Workspace, "user", req.Invocation.Actor.ID)
	if err := p.Done(held); err != nil {
		f.cfg.Log.ErrorContext(held, "finish request", "err", err)
	}
}
