package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// serveCmd runs the bot.
type serveCmd struct {
	Config string `help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone." placeholder:"FILE"`
}

// Run serves until the context ends.
func (s *serveCmd) Run(ctx context.Context, t *terminal, log *slog.Logger) error {
	cfg, warnings, err := loadConfig(s.Config, t.environ)
	if err != nil {
		return misused{err}
	}
	if err := cfg.requireServe(); err != nil {
		return misused{err}
	}
	for _, w := range warnings {
		log.Warn(w)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w; set listen (WAFBOT_LISTEN) to a free address", err)
	}
	log.Info("listening", "address", l.Addr().String(), "changes", cfg.Policy.Changes, "accounts", len(cfg.Accounts))
	return serve(ctx, cfg, l, served{log: log, audit: t.out})
}

// served is where a running bot writes.
type served struct {
	log   *slog.Logger
	audit io.Writer
}

// How long a stop may take: requests under way, then answers being looked up.
const (
	stopRequests = 3 * time.Second
	stopAnswers  = 5 * time.Second
)

// serve runs the bot on a listener until the context ends: it receives at once, and leads as soon as no other replica does.
// When stopping it takes no more requests first, so that nothing is acknowledged that nobody carries out.
func serve(ctx context.Context, cfg *Config, l net.Listener, w served) error {
	a, err := build(cfg, w.log, w.audit)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer a.store.Close()
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	g, ctx := errgroup.WithContext(ctx)
	server := &http.Server{Handler: a.bot.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	g.Go(func() error {
		// While stopping, a listener that is shared may be closed already.
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		if err := a.store.Lead(work, a.lead); work.Err() == nil {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		defer stopWork()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopRequests)
		defer cancel()
		err := server.Shutdown(stop)
		drain, cancelDrain := context.WithTimeout(context.WithoutCancel(ctx), stopAnswers)
		defer cancelDrain()
		a.bot.Drain(drain)
		return err
	})
	return g.Wait()
}
