package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
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
	Ready          bool                      `json:"ready"`
	Version        string                    `json:"version"`
	Redis          string                    `json:"redis"` // "ok", or what is wrong
	workspaceState                           // where there are several, what they have in common
	Workspaces     map[string]workspaceState `json:"workspaces,omitempty"` // where there are several
	Accounts       map[string]accountState   `json:"accounts"`
	Config         *Configuration            `json:"config,omitempty"`
	Sources        map[string]string         `json:"sources,omitempty"` // sources whose file can't be read, and why; the last good content counts
}

// workspaceState is how a workspace can be reached, and reaches this replica.
type workspaceState struct {
	Slack   string               `json:"slack"`                   // "ok", or what is wrong
	Limited map[string]time.Time `json:"slack_limited,omitempty"` // the methods that Slack refuses because there were too many calls, and until when
	Ingress string               `json:"ingress"`                 // "http", "socket mode", both with a comma, or what is wrong

	receives bool // by Ingress
}

// Configuration is how a replica's configuration stands.
type Configuration struct {
	Failed  string            `json:"failed,omitempty"`  // what is wrong with the file as it is now; "": nothing is known
	Removed map[string]string `json:"removed,omitempty"` // accounts that it has no more, and what becomes of their changes
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
	Capped     string    `json:"capped,omitempty"` // there are more attacks than are watched
	LastGood   time.Time `json:"last_good,omitzero"`
	Rebuilding string    `json:"rebuilding,omitempty"` // its state is read back from Slack: how far
	Elsewhere  bool      `json:"elsewhere,omitempty"`  // another replica owns it
}

// workspace is how a bot's workspace is, by what Slack said of the token.
func (f *Front) workspace(b *Bot, said error) (s workspaceState) {
	open, trouble := f.door.linked(b.cfg.Workspace)
	var ways []string
	if b.cfg.Secret != "" {
		ways = append(ways, "http")
	}
	if open > 0 {
		ways = append(ways, "socket mode")
	}
	if s.Slack, s.Limited = "ok", b.cfg.Slack.Held(); said != nil {
		s.Slack = "can't be used: " + slackconn.Brief(said)
	}
	if s.Ingress, s.receives = strings.Join(ways, ", "), len(ways) > 0; !s.receives {
		s.Ingress = "nothing can be received: " + cmp.Or(trouble, "no socket mode link is open yet")
	}
	return s
}

// together is how several workspaces are: it names those that can't be used, and receives if one of them does.
func together(all map[string]workspaceState) (s workspaceState) {
	var unusable, deaf []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Slack != "ok" {
			unusable = append(unusable, name)
		}
		if !all[name].receives {
			deaf = append(deaf, name)
		}
	}
	s.Slack, s.Ingress, s.receives = "ok", "ok", len(deaf) < len(all)
	if len(unusable) > 0 {
		s.Slack = "can't be used: " + strings.Join(unusable, ", ")
	}
	if len(deaf) > 0 {
		s.Ingress = "nothing can be received from: " + strings.Join(deaf, ", ")
	}
	return s
}

// slackPatience is how long /readyz waits for Slack: probes often give up after a second.
const slackPatience = 800 * time.Millisecond

// ready answers 200 if Redis can be written and an ingress is open. Slack and accounts are in the body only: one workspace's or account's token must not take the
// replica out of service.
func (f *Front) ready(w http.ResponseWriter, r *http.Request) {
	var redis error
	var said []error
	var asked sync.WaitGroup
	asked.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2*time.Second)
		defer cancel()
		redis = f.cfg.Redis.Ping(ctx)
	})
	asked.Go(func() { said = f.askSlack(r.Context()) })
	asked.Wait()
	state := readiness{Version: version.Get().String(), Redis: "ok", Accounts: map[string]accountState{}}
	f.workspaces(&state, said)
	if state.Ready = redis == nil && state.receives; redis != nil {
		f.log.warn(r.Context(), "not ready", "err", redis) // anybody who reaches the port may ask
		state.Redis = "can't be written"
		if refusal.Full(redis) {
			state.Redis += ": its memory is full. Changes are refused until it has room again"
		}
	}
	if f.cfg.Broken != nil {
		state.Sources = f.cfg.Broken()
	}
	if f.cfg.Configuration != nil {
		state.Config = new(f.cfg.Configuration())
	}
	w.Header().Set("Content-Type", "application/json")
	if !state.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	words, _ := json.Marshal(state) // strings and times can't fail
	_, _ = w.Write(append(text.SanitizeJSON(words), '\n'))
}

// workspaces fills in how workspaces and accounts are, by what Slack said of each one's token.
func (f *Front) workspaces(state *readiness, said []error) {
	all := map[string]workspaceState{}
	for i, b := range f.each() {
		all[b.cfg.Workspace] = f.workspace(b, said[i])
		for _, a := range b.cfg.Accounts {
			state.Accounts[a.Name] = b.accountState(a)
		}
	}
	if only, unnamed := all[""]; unnamed {
		state.workspaceState = only
		return
	}
	state.workspaceState, state.Workspaces = together(all), all
}

func (b *Bot) accountState(a notify.Account) (s accountState) {
	if far, reads := b.readings.Load(a.Name); reads {
		s.Rebuilding = far.(string)
	}
	if s.Elsewhere = s.Rebuilding == "" && !b.cfg.Notifier.Owns(a.Name); !s.Elsewhere && a.Health != nil {
		h := a.Health()
		s.Failing, s.Capped, s.LastGood = h.Failing, h.Capped, h.LastGood
	}
	return s
}
