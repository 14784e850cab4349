package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox"
)

// sandboxCmd runs the emulated world alone.
type sandboxCmd struct {
	Listen  string `help:"Address of the page and all the emulated APIs." default:"127.0.0.1:0"`
	Deliver string `help:"Base address of the bot, where signed requests go. Left out: Socket Mode, over the links that the bot opens." placeholder:"URL"`
}

// Validate implements kong's check.
func (s *sandboxCmd) Validate() error {
	if s.Deliver == "" {
		return nil
	}
	if u, err := url.Parse(s.Deliver); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("--deliver is no web address; write it like http://127.0.0.1:8080")
	}
	return nil
}

// openSandbox opens an emulated world: nothing listens outside loopback unless told to, and then it warns.
func openSandbox(cfg sandbox.Config, log *slog.Logger) (*sandbox.World, error) {
	switch host, port, err := net.SplitHostPort(cfg.Listen); {
	case err != nil: // New says so
	case host == "":
		cfg.Listen = net.JoinHostPort("127.0.0.1", port)
	case !config.IsLoopback(host):
		log.Warn("other machines reach the emulated world, which asks nobody who they are: use --listen 127.0.0.1:PORT", "listen", cfg.Listen)
	}
	world, err := sandbox.New(cfg)
	if _, busy := errors.AsType[*net.OpError](err); busy {
		err = fmt.Errorf("%w; --listen 127.0.0.1:0 picks a free port", err)
	}
	return world, err
}

// Run prints the environment for a bot and runs the world until the context ends.
func (s *sandboxCmd) Run(ctx context.Context, t *terminal, log *slog.Logger) error {
	world, err := openSandbox(sandbox.Config{Listen: s.Listen, Deliver: s.Deliver}, log)
	if err != nil {
		return err
	}
	log.Info("the emulated world is open", "page", world.URL())
	if _, err := fmt.Fprintf(t.out, "%s\n\n", strings.Join(world.Env(), "\n")); err != nil {
		return fmt.Errorf("print environment: %w", err)
	}
	return world.Run(ctx)
}
