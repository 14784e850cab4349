package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
)

// serveCmd runs the bot.
type serveCmd struct {
	Config string `help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone." placeholder:"FILE"`
}

// Run serves until the context ends.
func (s *serveCmd) Run(ctx context.Context, t *terminal) error {
	load := func() (*config.Config, error) { return loadToServe(s.Config, t.environ) }
	signal.Notify(t.hangup, syscall.SIGHUP)
	again := &restarts{hangup: t.hangup, load: load, handed: t.handed}
	cfg, err := again.load()
	if err != nil {
		return err
	}
	again.files = mounted(cfg)
	log := t.log(cfg.Log)
	boundMemory(log)
	l, err := t.handed.listen(cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w; set listen (WAFBOT_LISTEN) to a free address", err)
	}
	log.Info("listening", "address", l.Addr().String(), "changes", cfg.Policy.Changes, "accounts", len(cfg.Accounts))
	again.listener = l
	err = serve(ctx, cfg, l, botOptions{log: log, audit: &lineWriter{out: t.out}, restarts: again})
	if !errors.Is(err, errRestart) {
		return err
	}
	if ctx.Err() == nil { // else it was to stop, too
		err = t.again(again.next)
	}
	return unlessStopped(ctx, err)
}

// botOptions are what a bot gets beside its configuration.
type botOptions struct {
	log    *slog.Logger
	audit  *lineWriter   // events and audit entries, as JSON lines; bots that write to the same place share one
	speed  float64       // how many times faster than the real service an emulated one is; 0: it is the real one
	settle time.Duration // how long a message may be on its way to Slack, after Redis was emptied; 0: settleFor
	clocks *clock.Clocks // nil: of this machine

	restarts *restarts // nil: it isn't restarted
}

// How long each step of a stop may take.
const (
	stopAnswers = 5 * time.Second  // answers to requests, which themselves get three
	stopWork    = 10 * time.Second // changes and messages in hand

	restartWork    = 2 * time.Second // the same before a restart: the next start takes up what is in Redis
	restartAnswers = time.Second     // after links were closed: until the next start opens some, nothing comes in
)

// serve runs the bot on a listener until the context ends: it receives, and shares polling, notifying and carrying out
// with the other replicas. To stop, it first stops receiving: otherwise it could acknowledge what it no longer carries
// out. Then it finishes what is in hand. Last it signs off from the other replicas.
func serve(ctx context.Context, cfg *config.Config, l net.Listener, o botOptions) error {
	defer func() { _ = l.Close() }() // unless it received
	a, err := build(cfg, o)
	if err != nil {
		return misused{err}
	}
	defer a.Close()
	if err := a.hear(ctx); err != nil {
		return err
	}
	// In the order in which they end: after more nothing new begins, after held what is in hand is dropped, after living
	// the replica is gone.
	living, leave := context.WithCancel(context.WithoutCancel(ctx))
	held, drop := context.WithCancel(living)
	more, stop := context.WithCancel(held)
	finish := func(limit time.Duration) { // what is in hand, and nothing new
		stop()
		time.AfterFunc(limit, drop)
	}
	g, ctx := errgroup.WithContext(ctx)
	received, shared := make(chan struct{}), make(chan struct{})
	answers := stopAnswers
	g.Go(func() error {
		defer close(received)
		defer finish(stopWork)
		receiving, ctx := errgroup.WithContext(ctx)
		// Links are closed last: without one Slack has nowhere to deliver.
		linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
		receiving.Go(func() error {
			defer unlink()
			return a.server.Serve(ctx, l)
		})
		receiving.Go(func() error { return a.receive(linked) })
		receiving.Go(func() error {
			a.restarts.over(ctx, a)
			return nil
		})
		err := receiving.Wait()
		a.drain(ctx, answers)
		return err
	})
	g.Go(func() error {
		if !a.restarts.due(ctx, a) {
			return nil
		}
		finish(restartWork) // while deliveries are still stored: the next start carries them out
		a.drain(ctx, restartWork)
		<-shared
		answers = restartAnswers
		return errRestart
	})
	a.again(g, living, "counts", a.runner.Run)
	for what, watch := range map[string]func(context.Context){
		"scopes": a.slack.LogMissingScopes, "the app": a.slack.FindApp, "clocks": a.watchClocks, "accounts": a.watchAccounts,
	} {
		a.again(g, ctx, what, func(ctx context.Context) error { watch(ctx); return nil })
	}
	a.again(g, living, "beats", func(ctx context.Context) error {
		return a.explain(ctx, a.Replicas.Beat(ctx))
	})
	var sharing errgroup.Group
	a.again(&sharing, more, "requests", func(more context.Context) error { return a.server.Work(held, more) })
	a.again(&sharing, more, "shares", func(more context.Context) error {
		return a.Replicas.Share(held, more, a.names(), a.own)
	})
	g.Go(func() error {
		defer close(shared)
		return sharing.Wait()
	})
	g.Go(func() error {
		<-shared
		<-received
		leave()
		return nil
	})
	return g.Wait()
}

// again runs a part of the bot until its context ends, and begins it again when it panics.
func (a *app) again(g *errgroup.Group, ctx context.Context, what string, do func(context.Context) error) {
	g.Go(func() error {
		return unlessStopped(ctx, delay.Again(ctx, a.log, what, func() error { return do(ctx) }))
	})
}

// drain waits for answers that are still being looked up, for at most as long as the limit.
func (a *app) drain(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	a.server.Drain(ctx)
}

// unlessStopped is the error, or nil if it is due to a stop.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
