package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox"
)

// demoCmd runs the bot in an emulated world.
type demoCmd struct {
	Listen   string  `help:"Address of the page; :0 picks a port." default:"127.0.0.1:8370"`
	Replicas int     `help:"How many bots share the accounts and the work." default:"1"`
	Speed    float64 `help:"How much faster than in reality mitigations start to work and attacks unfold." default:"12"`
	Seed     uint64  `help:"Makes the emulated service's ids and addresses repeatable." default:"1"`
}

// Validate implements kong's check.
func (d *demoCmd) Validate() error {
	if d.Speed <= 0 {
		return errors.New("--speed must be above 0")
	}
	if d.Replicas < 1 || d.Replicas > maxReplicas {
		return fmt.Errorf("--replicas must be 1 to %d", maxReplicas)
	}
	return nil
}

// Run prints the page's address and runs the world and the bots until the context ends.
func (d *demoCmd) Run(ctx context.Context, t *terminal, log *slog.Logger) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the bot: %w", err)
	}
	defer l.Close()
	world, err := openSandbox(sandbox.Config{Listen: d.Listen, Deliver: "http://" + l.Addr().String(), Speed: d.Speed,
		Seed: d.Seed}, log)
	if err != nil {
		return err
	}
	cfg, err := demoConfig(world)
	if err != nil {
		return err
	}
	cfg.Runbooks = map[string]string{"*": world.URL() + "/runbook.html"}
	cfg.Policy.Approval.Approvers = cfg.Policy.Admins[0]
	for i := range cfg.Accounts {
		play(&cfg.Accounts[i], world, d.Speed)
	}
	fmt.Fprintln(t.out, world.URL())
	fmt.Fprintln(t.err, "Open that address. Everything is emulated and on this machine; nothing reaches a real Slack or a real service.")
	outlive, end := context.WithCancel(context.WithoutCancel(ctx))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return world.Run(outlive) })
	var bots sync.WaitGroup
	shared := &sharedListener{Listener: l}
	bots.Add(d.Replicas)
	for range d.Replicas {
		g.Go(func() error {
			defer bots.Done()
			return serve(ctx, cfg, shared, botOptions{log: log, audit: &lineWriter{out: io.Discard}, speed: d.Speed})
		}) // /waf audit shows it
	}
	bots.Wait()
	end() // last: a stopping bot still needs its Redis
	return g.Wait()
}

// maxReplicas is far more than a demonstration needs.
const maxReplicas = 16

// sharedListener gives each connection to one of the replicas, as a load balancer does. Each of them closes it.
type sharedListener struct {
	net.Listener
	once sync.Once
}

// Close closes the listener for all replicas.
func (l *sharedListener) Close() (err error) {
	l.once.Do(func() { err = l.Listener.Close() })
	return err
}

// demoPoll is short: a card shows within a second.
const demoPoll = time.Second

// demoConfig is what the world's environment says, with all its accounts and the names of their applications.
func demoConfig(world *sandbox.World) (*config.Config, error) {
	cfg, err := loadToServe("", world.Env())
	if err != nil {
		return nil, err
	}
	template := cfg.Accounts[0]
	cfg.Accounts = nil
	for _, tenant := range world.Accounts() {
		account := template
		account.Name, account.APIURL, account.Token = tenant.Name, tenant.APIURL, apiclient.Secret(tenant.Token)
		account.ClientID, account.Channel, account.PollInterval = tenant.ClientID, tenant.Channel, demoPoll
		state, err := world.WAF.State(tenant.Name)
		if err != nil {
			return nil, fmt.Errorf("read the emulated account %s: %w", tenant.Name, err)
		}
		account.Applications = map[int]config.Application{}
		for _, app := range state.Applications {
			account.Applications[app.ID] = config.Application{Name: app.Name}
		}
		cfg.Accounts = append(cfg.Accounts, account)
	}
	for i := range cfg.Sources {
		cfg.Sources[i].Name = "our CDN"
	}
	return cfg, nil
}

// leastWait is the shortest wait, however fast the world is: attacks pause for some seconds.
const leastWait = 30 * time.Second

// play adapts an account to the demonstration: its attacks and storms end as much earlier as the world is faster, and
// the responders are mentioned for what gets through. This shows which events mention people and which don't.
func play(a *config.Account, world *sandbox.World, speed float64) {
	a.OngoingFor = min(a.OngoingFor, max(leastWait, time.Duration(float64(a.OngoingFor)/speed)))
	a.ConsoleURL = world.URL() + "/#side=service&account=" + a.Name
	loud := config.Default[config.Route]()
	loud.Mention = world.Slack.UserGroups()[0].ID
	incident, through := loud, loud
	incident.Match.Kind, through.Match.Status = config.OneOrMore{"incident"}, config.OneOrMore{"not_blocked"}
	legacy := incident // of another team, see the scenarios
	legacy.Match.Application, legacy.Channel = config.OneOrMore{"7"}, sandbox.ChannelLegacy
	a.Routes = []config.Route{legacy, incident, through, {}}
}

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
		log.Warn("other machines reach the emulated world, which asks nobody who they are: use --listen 127.0.0.1:PORT",
			"listen", cfg.Listen)
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
