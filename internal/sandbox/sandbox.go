// Package sandbox is an emulated world to try and test the bot: the protection service, a Slack workspace and Redis, a JSON API that drives them, and a page to watch them.
package sandbox

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Config describes a world. Zero values are defaults.
type Config struct {
	// Listen is the address of the one listener for page, APIs and control; "" means 127.0.0.1:0.
	Listen string
	// Deliver is the base address of the bot, which signed clicks, commands and events go to.
	// "" means that they go over the Socket Mode links that the bot opens.
	Deliver string
	// Speed is how much faster than real mitigations take effect, slow scenarios run and events are retried. 0 means 1.
	Speed float64
	// Seed makes the service's ids and addresses repeatable.
	Seed uint64
	// Patience is how long Slack waits for the bot's acknowledgement, and for a view after an interaction. 0 means 3 s, as Slack's.
	Patience time.Duration
	// ServiceAhead is how far the service's clock is ahead of this machine's.
	ServiceAhead time.Duration
	// Quiet leaves out the opening scenario: no attack starts by itself.
	Quiet bool
}

// World is the emulated world. All its methods may be called at the same time.
type World struct {
	// WAF is the emulated protection service.
	WAF *waf.Service
	// Slack is the emulated workspace.
	Slack *workspace.Workspace

	*stage

	cfg      Config
	listener net.Listener
	redis    *miniredis.Miniredis
	handler  http.Handler

	mu      sync.Mutex
	deliver string
}

// Account is an account of the world's service, as a bot is configured with it.
type Account struct {
	Name     string `json:"name"`
	APIURL   string `json:"api_url"`
	Token    string `json:"token"`
	ClientID int    `json:"client_id"`
	// Channel is the id of the Slack channel made for it.
	Channel string `json:"channel"`
}

// New makes a world that listens and does nothing else yet. Run serves it and closes it;
// for a world that is not wanted after all, Run with an ended context only closes.
func New(cfg Config) (*World, error) {
	cfg.Speed = cmp.Or(cfg.Speed, 1)
	if cfg.Speed < 0 {
		return nil, fmt.Errorf("make world: speed %g is below 0", cfg.Speed)
	}
	listener, err := net.Listen("tcp", cmp.Or(cfg.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the emulated world: %w", err)
	}
	w := &World{cfg: cfg, listener: listener, redis: miniredis.NewMiniRedis(), deliver: trim(cfg.Deliver)}
	accounts := castAccounts(w.URL() + "/service")
	w.WAF = waf.New(waf.Config{Accounts: serviceAccounts(accounts), Speed: cfg.Speed, Seed: cfg.Seed, Now: func() time.Time {
		return time.Now().Add(cfg.ServiceAhead)
	}})
	w.stage = &stage{waf: w.WAF, accounts: accounts, speed: cfg.Speed, steps: make(chan step, 64)}
	w.Slack, err = workspace.New(workspace.Config{
		TeamID: teamID, TeamName: teamName, BotToken: botToken, AppToken: appToken, SigningSecret: signingSecret, BotUserID: botUserID,
		Users: castUsers(), Channels: castChannels(), UserGroups: castGroups(), Command: slashCommand, BaseURL: w.URL() + "/slack", Deliver: w.deliver,
		RateLimits: true, Speed: cfg.Speed, Patience: cfg.Patience,
	})
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("make the emulated workspace: %w", err)
	}
	if err := w.redis.Start(); err != nil {
		listener.Close()
		return nil, fmt.Errorf("start the emulated redis: %w", err)
	}
	w.redis.ClockTTL(true) // keys must expire in real time
	w.handler = w.routes()
	return w, nil
}

// URL is the address of the page and the root of everything else, without trailing slash.
// A world that listens on all interfaces is named by its loopback address.
func (w *World) URL() string {
	host, port, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		return "http://" + w.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// DeliverTo sends signed requests to the bot at another base address from now on; "": to none.
func (w *World) DeliverTo(url string) {
	w.mu.Lock()
	w.deliver = trim(url)
	w.mu.Unlock()
	w.Slack.DeliverTo(trim(url))
}

// Accounts lists the accounts, for a bot that is configured with several.
func (w *World) Accounts() []Account {
	return append([]Account(nil), w.accounts...)
}

// Env is the environment, as NAME=value, that points a bot at this world with its first account.
func (w *World) Env() []string {
	first := w.accounts[0]
	env := []string{
		"WAFBOT_SLACK_BOT_TOKEN=" + botToken,
		"WAFBOT_SLACK_APP_TOKEN=" + appToken,
		"WAFBOT_SLACK_SIGNING_SECRET=" + signingSecret,
		"WAFBOT_SLACK_API_URL=" + w.URL() + "/slack/api/",
		"WAFBOT_REDIS_URL=redis://" + w.redis.Addr() + "/0",
		"WAFBOT_API_URL=" + first.APIURL,
		"WAFBOT_API_TOKEN=" + first.Token,
		"WAFBOT_CHANNEL=" + first.Channel,
		"WAFBOT_VIEWERS=*",
		"WAFBOT_RESPONDERS=" + userRob + "," + groupID, // Rob also by id, because tests change the group
		"WAFBOT_ADMINS=" + userAnn,
		"WAFBOT_NEVER_DENY=" + ownCDN,
		"WAFBOT_CHANGES=on",
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	listen := "127.0.0.1:8080" // where the bot listens by default
	if bot, err := url.Parse(w.deliver); err == nil && bot.Host != "" {
		listen = bot.Host
	}
	return append(env, "WAFBOT_LISTEN="+listen)
}

func trim(base string) string { return strings.TrimRight(base, "/") }
