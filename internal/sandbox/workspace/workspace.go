// Package workspace is an emulated Slack workspace that refuses what Slack refuses: channels, messages and views, the Web API, response URLs, and what
// people do.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

// Config describes a workspace. Zero values are defaults.
type Config struct {
	TeamID        string // zero: T0SANDBOX
	TeamName      string // zero: Sandbox
	BotToken      string // zero: xoxb-sandbox
	AppToken      string // the app-level token, which opens Socket Mode links and nothing else; zero: xapp-sandbox
	SigningSecret string // zero: sandbox-signing-secret
	BotUserID     string // zero: U0WAFBOT
	BotID         string // zero: B0WAFBOT
	AppID         string // zero: A0WAFBOT

	Users      []User
	Channels   []Channel
	UserGroups []UserGroup
	Scopes     []string // what the bot token may do; zero: what the bot's manifest asks for, see DefaultScopes

	Command string // the slash command; zero: /waf
	BaseURL string // where this handler is reached by the bot, without trailing slash: the start of every response URL
	Deliver string // where signed requests go, without trailing slash; zero: nowhere, the bot opens Socket Mode links

	Ingress   Ingress       // how clicks, commands and events are delivered; zero: signed requests if Deliver is set, else links
	Events    []string      // what the bot subscribes to; zero: what its manifest asks for, see DefaultEvents
	NoHome    bool          // the app has no Home tab
	PingEvery time.Duration // of WebSocket pings over a link; zero: 5 s
	Patience  time.Duration // for an acknowledgement, and for a view after an interaction; zero: 3 s, as Slack's
	Speed     float64       // divides the waits before an event is retried; zero: 1

	// RateLimits applies Slack's rate limits: a message a second and channel after a burst of 5, 300 messages
	// a minute in all, and per minute and method 20, 50 or 100 calls by tier. False: no limits.
	RateLimits bool

	Now  func() time.Time // zero: time.Now
	HTTP *http.Client     // for deliveries; zero: a client that gives up after Patience
}

// DefaultScopes are the scopes of a bot token whose Config names none.
func DefaultScopes() []string {
	return []string{
		"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands",
		"groups:history", "groups:read", "im:history", "usergroups:read", "users:read",
	}
}

// DefaultEvents are the subscriptions of a bot whose Config names none.
func DefaultEvents() []string {
	return []string{
		"app_home_opened", "app_mention", "message.im", "subteam_created", "subteam_members_changed", "subteam_updated", "user_change",
	}
}

// Workspace is one emulated Slack workspace. All its methods may be called at the same time.
//
// It has layers that share one lock. A layer embeds the one below and can't call those above.
type Workspace struct{ *webAPI }

// core is what all layers share.
type core struct {
	*delivery.Sender

	cfg     Config
	schemas blockkit.Schemas
	ctx     context.Context // of background work; Close ends it
	stop    context.CancelFunc
	running sync.WaitGroup // background work

	changes sync.Mutex    // guards changed; taken last
	changed chan struct{} // closed at the next change

	mu     sync.Mutex // guards everything below, in all layers, and what setters change in cfg
	lastTS int64      // microseconds
	serial int        // of generated ids
}

// people knows users, channels and user groups.
type people struct {
	*core
	users     []User
	channels  []Channel
	groups    []UserGroup
	regrouped map[string]time.Time // when user groups changed last, by id
}

// pace holds calls and posts to Slack's rate limits.
type pace struct {
	*people
	limits limits
}

// faultMenu holds the faults that calls and deliveries meet.
type faultMenu struct {
	*pace
	faults []Fault
}

// eventLog sends events to the bot and keeps them.
type eventLog struct {
	*faultMenu
	events []*sentEvent
}

// messageStore holds the messages of all channels.
type messageStore struct {
	*eventLog
	messages []*stored
}

// viewStore holds the open modals and the published Home tabs.
type viewStore struct {
	*messageStore
	views    []*openView
	triggers map[string]*trigger
}

// webAPI serves the Web API and response URLs.
type webAPI struct {
	*viewStore
	prefix    string // the path of BaseURL, when the handler is mounted without http.StripPrefix
	methods   map[string]method
	calls     []Call
	responses map[string]*response
}

// New returns a workspace with the given people and channels, and the bot itself among its users.
func New(cfg Config) (*Workspace, error) {
	cfg = withDefaults(cfg)
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, errors.New("parse base url of workspace: not an address")
	}
	compiled, err := blockkit.LoadSchemas()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &core{ctx: ctx, stop: stop, cfg: cfg, schemas: compiled, changed: make(chan struct{})}
	c.Sender = delivery.New(delivery.Config{
		BaseURL: cfg.BaseURL, AppID: cfg.AppID, SigningSecret: cfg.SigningSecret, Deliver: cfg.Deliver, Ingress: cfg.Ingress,
		PingEvery: cfg.PingEvery, Patience: cfg.Patience, Now: cfg.Now, Client: cfg.HTTP, Changed: c.notify,
	})
	p := &people{core: c, groups: slices.Clone(cfg.UserGroups), regrouped: map[string]time.Time{}}
	m := &messageStore{eventLog: &eventLog{faultMenu: &faultMenu{pace: &pace{people: p, limits: newLimits()}}}}
	v := &viewStore{messageStore: m, triggers: map[string]*trigger{}}
	w := &Workspace{&webAPI{viewStore: v, prefix: base.Path, methods: methods(), responses: map[string]*response{}}}
	if err := w.addUsers(cfg.Users); err != nil {
		return nil, err
	}
	if err := w.addChannels(cfg.Channels); err != nil {
		return nil, err
	}
	return w, nil
}

func withDefaults(cfg Config) Config {
	cfg.TeamID = cmp.Or(cfg.TeamID, "T0SANDBOX")
	cfg.TeamName = cmp.Or(cfg.TeamName, "Sandbox")
	cfg.BotToken = cmp.Or(cfg.BotToken, "xoxb-sandbox")
	cfg.AppToken = cmp.Or(cfg.AppToken, "xapp-sandbox")
	cfg.SigningSecret = cmp.Or(cfg.SigningSecret, "sandbox-signing-secret")
	cfg.BotUserID = cmp.Or(cfg.BotUserID, "U0WAFBOT")
	cfg.BotID = cmp.Or(cfg.BotID, "B0WAFBOT")
	cfg.AppID = cmp.Or(cfg.AppID, "A0WAFBOT")
	cfg.Command = cmp.Or(cfg.Command, "/waf")
	if cfg.Scopes == nil {
		cfg.Scopes = DefaultScopes()
	}
	if cfg.Events == nil {
		cfg.Events = DefaultEvents()
	}
	cfg.PingEvery = cmp.Or(cfg.PingEvery, 5*time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 3*time.Second)
	cfg.Speed = cmp.Or(cfg.Speed, 1)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HTTP == nil {
		// Kept connections would leave goroutines, which tests count.
		cfg.HTTP = &http.Client{
			Timeout:       cfg.Patience,
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return cfg
}
