package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/store"
)

const (
	watchEvery  = time.Second      // how often it is looked whether a mounted configuration was replaced
	checkWithin = 10 * time.Second // how long Slack may take to say whether a new token is right
)

// succession runs a bot for as long as its configuration stands, then the next one. The next begins, takes what comes in through the door from then on, and the one
// before leaves in the order of a stop. So both are replicas for a moment, as in a rolling update, and what isn't lost there isn't lost here.
type succession struct {
	load     func() (*config.Config, *config.Folders, error)
	listener net.Listener
	o        botOptions
	log      *slog.Logger
	errs     io.Writer // where logs go
	hangup   <-chan os.Signal

	door      *bot.Door
	links     *store.Store // for links: those of the bots end with them
	receiving *errgroup.Group
	linked    map[string]context.CancelFunc // ends the links of a workspace

	folders *config.Folders // of the last configuration that was tried
	now     *generation
}

// generation is one bot of a succession.
type generation struct {
	app   *app
	stop  context.CancelFunc
	ended chan error
}

// loads is how loading the configuration went, for all bots of a process.
type loads struct {
	mu     sync.Mutex
	at     time.Time // when the configuration in force was loaded
	failed string    // what came of the last attempt to load it again; "": it was taken
}

func (l *loads) note(at time.Time, failed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed = failed; failed == "" {
		l.at = at
	}
}

func (l *loads) last() (at time.Time, failed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at, l.failed
}

// run runs bots until the context ends, or one ends by itself.
func (s *succession) run(ctx context.Context, cfg *config.Config) error {
	defer func() { _ = s.listener.Close() }() // unless it received
	links, err := store.Open(storeConfig(cfg, s.o.clocks))
	if err != nil {
		return err
	}
	defer links.Close()
	s.door, s.links, s.linked = bot.NewDoor(s.log), links, map[string]context.CancelFunc{}
	s.o.loads.note(s.o.clocks.Now(), "")
	if s.now, err = s.begin(ctx, cfg, nil); err != nil {
		return err
	}
	s.door.Admit(s.now.app.front)
	s.receiving, ctx = errgroup.WithContext(ctx)
	s.link(ctx, cfg)
	s.receiving.Go(func() error { return s.door.Serve(ctx, s.listener) })
	s.receiving.Go(func() error { return s.follow(ctx) })
	err = s.receiving.Wait()
	s.now.stop()
	return errors.Join(err, <-s.now.ended)
}

// link opens the links of the workspaces that have none yet, and ends those of workspaces that are no more.
func (s *succession) link(ctx context.Context, cfg *config.Config) {
	for name, end := range s.linked {
		if cfg.Workspace(name) == nil {
			end()
			delete(s.linked, name)
		}
	}
	for _, w := range cfg.EachWorkspace() {
		if s.linked[w.Name] != nil {
			continue
		}
		of := newSide(*w, s.links, s.o.metrics, s.log)
		ctx, end := context.WithCancel(ctx)
		s.linked[w.Name] = end
		s.receiving.Go(func() error { return receive(ctx, s.door, of.Slack, of.links()) })
	}
}

// follow loads the configuration again when it is to, until the context or a bot ends.
func (s *succession) follow(ctx context.Context) error {
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.now.ended:
			s.now.ended <- nil
			return cmp.Or(err, errEnded)
		case <-s.hangup:
			s.reload(ctx, "SIGHUP")
		case <-look.C:
			if s.folders.Changed() {
				s.reload(ctx, "its files were replaced")
			}
		}
	}
}

var errEnded = errors.New("the bot ended")

// begin begins a bot. It receives nothing yet.
func (s *succession) begin(ctx context.Context, cfg *config.Config, removed []tenancy) (*generation, error) {
	o := s.o
	o.removed, o.log = removed, logAs(s.errs, cfg.Log)
	a, err := build(cfg, o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the door
	g := &generation{app: a, stop: stop, ended: make(chan error, 1)}
	go func() {
		defer stop()
		g.ended <- a.run(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
	}()
	return g, nil
}

// reload loads the configuration again. What is wrong leaves the running one in place.
func (s *succession) reload(ctx context.Context, why string) {
	cfg, folders, err := s.load()
	if s.folders = cmp.Or(folders, s.folders); err == nil {
		err = s.succeed(ctx, cfg, why)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	var bad *config.Error
	said := "the configuration was loaded again, and is wrong: the one before counts. The log has why"
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			s.log.Error("configuration is wrong", "at", p.At.String(), "key", cmp.Or(p.Variable, p.Key), "what", p.Text)
		}
	}
	s.log.Error("configuration not loaded again: the one before counts", "why", why, "err", err)
	s.o.loads.note(time.Time{}, said)
}

// succeed has a bot with the configuration take the place of the running one.
func (s *succession) succeed(ctx context.Context, cfg *config.Config, why string) error {
	before := s.now.app.cfg
	if keys := before.Restart(cfg); len(keys) > 0 {
		s.log.Warn("these keys count only after a restart", "keys", keys)
	}
	before.KeepUntilRestart(cfg)
	if cfg.Hash() == before.Hash() {
		s.o.loads.note(s.o.clocks.Now(), "")
		s.log.Info("configuration loaded again: nothing changed", "why", why)
		return nil
	}
	if err := checkTokens(ctx, cfg, before, s.now.app); err != nil {
		return err
	}
	last, replicas := s.now.app, s.links.Replicas // whose own are closed when it has ended
	removed := last.removedBy(ctx, cfg, replicas)
	if err := s.replace(ctx, cfg, removed); err != nil {
		return err
	}
	// What the bot before finished while it left is counted now. If an account has changes after all, it comes with one more bot.
	missed := func(t tenancy) bool {
		return !slices.ContainsFunc(removed, func(r tenancy) bool { return r.Name == t.Name })
	}
	if all := last.removedBy(ctx, cfg, replicas); slices.ContainsFunc(all, missed) {
		if err := s.replace(ctx, cfg, all); err != nil {
			return err
		}
	}
	s.o.loads.note(s.o.clocks.Now(), "")
	s.log.Info("configuration loaded again", "why", why, "hash", cfg.Hash(), "changes", cfg.Policy.Changes, "accounts", len(cfg.Accounts))
	return nil
}

// replace has a bot with the configuration, and with accounts that were taken out of it, take the place of the running one. From then on nothing goes by the one before.
func (s *succession) replace(ctx context.Context, cfg *config.Config, removed []tenancy) error {
	next, err := s.begin(ctx, cfg, removed)
	if err != nil {
		return err
	}
	s.door.Admit(next.app.front)
	s.link(ctx, cfg)
	s.now.stop()
	if err := <-s.now.ended; err != nil {
		s.log.Error("the bot before ended", "err", err)
	}
	s.now = next
	return nil
}

// checkTokens has Slack say whether it takes tokens that weren't there before: with a wrong one nothing could be posted.
func checkTokens(ctx context.Context, cfg, before *config.Config, now *app) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	var g errgroup.Group
	for key, w := range cfg.EachWorkspace() {
		if was := before.Workspace(w.Name); was != nil && was.BotToken == w.BotToken {
			continue
		}
		g.Go(func() error {
			if err := newSide(*w, now.store, now.metrics, now.log).client.Usable(ctx); err != nil {
				return fmt.Errorf("slack doesn't take the new token of %s: %w", key, err)
			}
			return nil
		})
	}
	return g.Wait()
}
