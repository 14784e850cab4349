package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/version"
)

// readiness is the body of /readyz.
type readiness struct {
	Ready    bool                    `json:"ready"`
	Version  string                  `json:"version"`
	Redis    string                  `json:"redis"`                   // "ok", or what is wrong
	Damaged  []string                `json:"redis_damaged,omitempty"` // what can't be read there, and is set aside
	Slack    string                  `json:"slack"`                   // "ok", or what is wrong
	Limited  map[string]time.Time    `json:"slack_limited,omitempty"` // methods that were called too often, and until when
	Ingress  map[string]string       `json:"ingress"`                 // by configured way in, "http" and "socket mode": "ok", or what is wrong
	Accounts map[string]accountState `json:"accounts"`
	Config   *Configuration          `json:"config,omitempty"`
	Sources  map[string]string       `json:"sources,omitempty"` // whose file can't be read, and why; the last good content counts
}

// Configuration is how a replica's configuration stands.
type Configuration struct {
	Failed  string            `json:"failed,omitempty"`  // what is wrong with the file as it is now; "": nothing is known
	Removed map[string]string `json:"removed,omitempty"` // accounts that it has no more, and what becomes of their changes
}

type accountState struct {
	Failing    string    `json:"failing,omitempty"`
	Capped     string    `json:"capped,omitempty"` // there are more attacks than are watched
	LastGood   time.Time `json:"last_good,omitzero"`
	Rebuilding string    `json:"rebuilding,omitempty"` // its state is read back from Slack: how far
	Elsewhere  bool      `json:"elsewhere,omitempty"`  // another replica owns it
}

// slackPatience is how long /readyz waits for Slack: probes often give up after a second.
const slackPatience = 800 * time.Millisecond

// state is what /metrics shows beside what was counted.
func (s *Server) state(ctx context.Context) (state metrics.State) {
	state = s.Config.State(ctx)
	state.SlackUp = s.askSlack(ctx) == nil
	if s.Slack.AppToken != "" {
		state.SocketLinks = new(s.Socket.State().Open)
	}
	_, state.Receiving = s.waysIn()
	return state
}

// overHTTP is how long a request over HTTP shows that Slack sends them.
const overHTTP = 10 * time.Minute

// waysIn is the state of each configured way in, and whether Slack delivers over one. Where there is an app token Slack
// uses Socket Mode, and HTTP counts for nothing, unless Slack says that the app's Socket Mode is off, or sent a request
// lately.
func (s *Server) waysIn() (ways map[string]string, receiving bool) {
	ways = map[string]string{}
	socket := s.Socket.State()
	if s.Slack.AppToken != "" {
		ways["socket mode"] = "ok"
		if socket.Trouble != "" {
			ways["socket mode"] = fmt.Sprintf("ok, %d open; the last one: %s", socket.Open, socket.Trouble)
		}
		if socket.Open == 0 {
			ways["socket mode"] = "nothing can be received: " + cmp.Or(socket.Trouble, "no socket mode link is open yet")
		}
	}
	lately := s.sent.Load() != 0 && s.Clocks.Now().Sub(time.Unix(s.sent.Load(), 0)) < overHTTP
	switch {
	case s.Secret == "":
		return ways, socket.Open > 0
	case s.Slack.AppToken != "" && !socket.Off && !lately:
		ways["http"] = "unused: the app has Socket Mode"
		return ways, socket.Open > 0
	}
	ways["http"] = "ok"
	if !s.events.Load() {
		ways["http"] = "ok; no event since the start. " +
			"If mentions get no answer, press Retry under Event Subscriptions on the app's page"
	}
	return ways, true
}

// askSlack asks whether Slack takes wafbot's token.
func (s *Server) askSlack(ctx context.Context) error {
	// It continues after the client is gone: the result is cached.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slackPatience)
	defer cancel()
	return s.Slack.Usable(ctx)
}

// ready answers 200 if Redis can be written and Slack can deliver. Slack's methods and accounts are in the body only: a
// token must not take the replica out of service.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	var redis, said error
	var asked sync.WaitGroup
	asked.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2*time.Second)
		defer cancel()
		redis = s.Inbox.Ping(ctx)
	})
	asked.Go(func() {
		delay.Run(s.Log, "a question to slack", func() { said = s.askSlack(r.Context()) })
	})
	asked.Wait()
	state := readiness{
		Version: version.Get().String(), Redis: "ok", Slack: "ok", Limited: s.Slack.Held(),
		Accounts: map[string]accountState{}, Sources: s.Broken(),
	}
	if said != nil {
		state.Slack = "can't be used: " + slackconn.Brief(said)
	}
	for _, a := range s.Accounts {
		state.Accounts[a.Name] = s.accountState(a)
	}
	var receiving bool
	state.Ingress, receiving = s.waysIn()
	if state.Ready = redis == nil && receiving; redis != nil {
		s.log.warn(r.Context(), "not ready", "err", redis) // anybody who reaches the port may ask
		state.Redis = "can't be written: it " + refusal.Redis(redis) + ". Changes are refused"
	}
	if redis == nil {
		state.Damaged = s.Damaged(r.Context())
	}
	if s.Configuration != nil {
		state.Config = new(s.Configuration())
	}
	w.Header().Set("Content-Type", "application/json")
	if !state.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	words, _ := json.Marshal(state) // strings and times can't fail
	_, _ = w.Write(append(text.SanitizeJSON(words), '\n'))
}

func (s *Server) accountState(a notify.Account) (state accountState) {
	if far, reads := s.readings.Load(a.Name); reads {
		state.Rebuilding = far.(string)
	}
	if state.Elsewhere = state.Rebuilding == "" && !s.Notifier.Owns(a.Name); !state.Elsewhere && a.Health != nil {
		h := a.Health()
		state.Failing, state.Capped, state.LastGood = h.Failing, h.Capped, h.LastGood
	}
	return state
}
