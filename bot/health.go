package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/version"
)

// readiness is the body of /readyz.
type readiness struct {
	Ready    bool                    `json:"ready"`
	Version  string                  `json:"version"`
	Redis    string                  `json:"redis"` // "ok", or what is wrong
	Slack    string                  `json:"slack"`
	Limited  map[string]time.Time    `json:"slack_limited,omitempty"` // the methods that Slack refuses because there were too many calls, and until when
	Ingress  string                  `json:"ingress"`                 // "http", "socket mode", both with a comma, or what is wrong
	Accounts map[string]accountState `json:"accounts"`
	Config   *Configuration          `json:"config,omitempty"`
	Clocks   string                  `json:"clocks,omitempty"`   // which are wrong
	Webhooks map[string]string       `json:"webhooks,omitempty"` // those that don't take events from this replica, and why
	Sources  map[string]string       `json:"sources,omitempty"`  // sources whose file can't be read, and why; the last good content counts
}

// Configuration is how a replica's configuration stands.
type Configuration struct {
	Hash      string            `json:"hash"`
	Loaded    time.Time         `json:"loaded,omitzero"`     // when
	Failed    string            `json:"failed,omitempty"`    // what came of the last attempt to load it again; "": it was taken
	Differing []string          `json:"differing,omitempty"` // the hosts of replicas with another one
	Removed   map[string]string `json:"removed,omitempty"`   // accounts that it has no more, and what becomes of their changes
}

// Remove notes an account that the configuration has no more.
func (c *Configuration) Remove(account, what string) {
	if c.Removed == nil {
		c.Removed = map[string]string{}
	}
	c.Removed[account] = what
}

type accountState struct {
	Failing    string    `json:"failing,omitempty"`
	EndsWait   string    `json:"ends_wait,omitempty"` // why nothing is removed by itself for now
	Capped     string    `json:"capped,omitempty"`    // there are more attacks than are watched
	LastGood   time.Time `json:"last_good,omitzero"`
	Rebuilding string    `json:"rebuilding,omitempty"` // its state is read back from Slack: how far
	Elsewhere  bool      `json:"elsewhere,omitempty"`  // another replica owns it
}

// ingress lists the ways by which Slack can deliver now; "": none.
func (b *Bot) ingress() string {
	var ways []string
	if b.cfg.Secret != "" {
		ways = append(ways, "http")
	}
	if open, _ := b.cfg.Door.linked(); open > 0 {
		ways = append(ways, "socket mode")
	}
	return strings.Join(ways, ", ")
}

// slackPatience is how long /readyz waits for Slack: probes often give up after a second.
const slackPatience = 800 * time.Millisecond

// ready answers 200 if Redis can be written and an ingress is open. Slack and accounts are in the body only: one account's token must not take the
// replica out of service.
func (b *Bot) ready(w http.ResponseWriter, r *http.Request) {
	var redis, workspace error
	var asked sync.WaitGroup
	within := func(limit time.Duration, ask func(context.Context) error, err *error) {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit) // also after the client is gone: the result is cached
			defer cancel()
			*err = ask(ctx)
		})
	}
	within(2*time.Second, b.cfg.Redis.Ping, &redis)
	within(slackPatience, b.cfg.Slack.Usable, &workspace)
	asked.Wait()
	state := readiness{Ready: true, Version: version.Get().String(), Redis: "ok", Slack: "ok", Accounts: map[string]accountState{}}
	if redis != nil {
		b.log.warn(r.Context(), "not ready", "err", redis) // anybody who reaches the port may ask
		state.Ready, state.Redis = false, "can't be written"
		if refusal.Full(redis) {
			state.Redis += ": its memory is full. Changes are refused until it has room again"
		}
	}
	if state.Ingress = b.ingress(); state.Ingress == "" {
		_, trouble := b.cfg.Door.linked()
		state.Ready, state.Ingress = false, "nothing can be received: "+cmp.Or(trouble, "no socket mode link is open yet")
	}
	if workspace != nil {
		state.Slack = "can't be used: " + slackconn.Brief(workspace)
	}
	state.Limited, state.Clocks = b.cfg.Slack.Held(), b.cfg.Clocks.Trouble()
	if b.cfg.Webhooks != nil {
		state.Webhooks = b.cfg.Webhooks()
	}
	if b.cfg.Broken != nil {
		state.Sources = b.cfg.Broken()
	}
	if b.cfg.Configuration != nil {
		state.Config = new(b.cfg.Configuration())
	}
	for _, a := range b.cfg.Accounts {
		state.Accounts[a.Name] = b.accountState(a)
	}
	w.Header().Set("Content-Type", "application/json")
	if !state.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	words, _ := json.Marshal(state) // strings and times can't fail
	_, _ = w.Write(append(text.SanitizeJSON(words), '\n'))
}

func (b *Bot) accountState(a notify.Account) (s accountState) {
	if far, reads := b.readings.Load(a.Name); reads {
		s.Rebuilding = far.(progress).String()
	}
	if s.Elsewhere = s.Rebuilding == "" && !b.cfg.Notifier.Owns(a.Name); !s.Elsewhere && a.Health != nil {
		h := a.Health()
		s.Failing, s.EndsWait, s.Capped, s.LastGood = h.Failing, b.cfg.Clocks.Unsure(a.Name), h.Capped, h.LastGood
	}
	return s
}
