package slackconn

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/internal/delay"
)

// Slack gives an app ten links, whoever holds them. Each replica has one, so that it can receive at all, and a spare one, so that nothing is
// missed while the other is renewed. A spare one never takes the last: that is for the next replica.
const (
	maxLinks  = 10
	maxSpares = maxLinks - 1
)

// How links are opened: never faster than this however often Slack ends them, and less and less often while they don't last.
const (
	openEvery   = time.Second
	openBurst   = 4           // at once: both links, and both again when Slack renews them together
	firstPause  = time.Second // after a link that did not last, doubling
	longestWait = time.Minute
	lasting     = 30 * time.Second // a link that was open so long was a good one
	slotEvery   = time.Second      // how often it is asked whether a link is free by now
)

// Links shares the app's few Socket Mode links among all replicas.
type Links interface {
	// TakeLink takes a link, or keeps it for another ten seconds, if with it at most so many are taken.
	TakeLink(ctx context.Context, id string, most int) (held bool, err error)
	DropLink(ctx context.Context, id string) error
}

// Envelope is what Slack sends over a link.
type Envelope struct {
	ID      string
	Type    string // slash_commands, interactive or events_api
	Payload json.RawMessage
}

// Handler carries out, or writes down, what an envelope asks for. What it returns goes back with the acknowledgement; nil: nothing.
type Handler interface {
	Envelope(ctx context.Context, e Envelope) *slack.ViewSubmissionResponse
}

// SocketConfig is what a Socket works with.
type SocketConfig struct {
	Slack        *Client
	Links        Links
	Handler      Handler
	Opens        prometheus.Counter  // attempts to open a link
	Acknowledged prometheus.Observer // seconds from an envelope to its acknowledgement
	Log          *slog.Logger
}

// Socket receives over Socket Mode.
type Socket struct {
	cfg    SocketConfig
	opener *rate.Limiter

	mu      sync.Mutex
	open    int    // links that can receive
	once    bool   // there was one
	trouble string // why the last one could not be opened or kept, for people
}

// NewSocket makes a Socket. Nothing is opened yet.
func NewSocket(cfg SocketConfig) *Socket {
	return &Socket{cfg: cfg, opener: rate.NewLimiter(rate.Every(openEvery), openBurst)}
}

// Receive takes what Slack sends over Socket Mode until the context ends. It returns at once when there is no app token, and with an error
// when Slack refuses the token from the beginning, in a way that trying again won't change. A token that is refused later ends the receiving
// only: cards are still told, and /readyz and the log say what is wrong.
func (s *Socket) Receive(ctx context.Context) error {
	if !s.cfg.Slack.links {
		return nil
	}
	g, keep := errgroup.WithContext(ctx)
	g.Go(func() error { return s.keep(keep, maxLinks) })
	g.Go(func() error { return s.keep(keep, maxSpares) })
	if err := g.Wait(); ctx.Err() == nil {
		if !s.opened() {
			return err
		}
		s.cfg.Log.Error("receiving over socket mode has ended: fix it and start wafbot again", "err", err)
		<-ctx.Done()
	}
	return nil
}

// keep keeps a link open, until the context ends or Slack refuses the token for good. When Slack announces a link's end, the next is opened
// while the old one is read to its end.
func (s *Socket) keep(ctx context.Context, most int) error {
	var links sync.WaitGroup
	defer links.Wait()
	failed := 0
	for {
		wait := time.Duration(0)
		if l, err := s.openLink(ctx, most); err != nil {
			if ctx.Err() != nil || errors.Is(err, errFinal) {
				return err
			}
			wait = retryAfter(err)
		} else {
			opened := time.Now()
			links.Go(func() { s.serve(ctx, l) })
			select {
			case <-l.ending:
			case <-l.ended:
			}
			if l.renewed() || time.Since(opened) >= lasting {
				failed = 0
			}
			if l.renewed() {
				continue
			}
		}
		if err := delay.Sleep(ctx, max(wait, spread(delay.Backoff(failed, firstPause, longestWait)))); err != nil {
			return err
		}
		failed++
	}
}

// spread is a wait give or take a quarter, so that replicas that lost their links together don't come back together.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*3/4, d*5/4) }

// openLink opens a link as soon as one is free (apps.connections.open).
func (s *Socket) openLink(ctx context.Context, most int) (*link, error) {
	id, err := s.takeSlot(ctx, most)
	if err != nil {
		return nil, err
	}
	l, err := s.dial(ctx)
	if err != nil {
		s.dropSlot(ctx, id)
		if ctx.Err() == nil {
			s.fail(err)
		}
		return nil, err
	}
	l.id, l.max = id, most
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.once, s.trouble = true, ""
	s.cfg.Log.Info("socket mode link opened", "open", s.open)
	return l, nil
}

func (s *Socket) dial(ctx context.Context) (*link, error) {
	if err := s.opener.Wait(ctx); err != nil {
		return nil, err
	}
	s.cfg.Opens.Inc()
	_, address, err := s.cfg.Slack.api.StartSocketModeContext(ctx)
	if err != nil {
		t, said := ExplainAppToken(err)
		switch {
		case slices.Contains(finalErrors, ErrorName(err)):
			return nil, fmt.Errorf("%w: %s; %s", errFinal, t.Text, t.Fix)
		case said:
			return nil, fmt.Errorf("open link: %w; %s", err, t.Fix)
		}
		return nil, fmt.Errorf("open link: %w", WithoutURL(err))
	}
	return dialLink(ctx, address)
}

// errFinal marks an answer of Slack's that trying again won't change.
var errFinal = errors.New("slack refuses the app-level token")

// finalErrors are Slack's names for those.
var finalErrors = []string{
	"not_authed", "invalid_auth", "token_expired", "token_revoked", "not_allowed_token_type", "missing_scope", "account_inactive",
	"user_removed_from_team", "team_disabled", "no_permission", "access_denied",
}

// retryAfter is how long Slack wants to be left alone.
func retryAfter(err error) time.Duration {
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		return min(limited.RetryAfter, longestWait)
	}
	return 0
}

// takeSlot waits until one of the app's links is free. While the memory is away a spare one has to wait, a first one goes ahead:
// without it nobody could be told why nothing is done.
func (s *Socket) takeSlot(ctx context.Context, most int) (id string, err error) {
	id = rand.Text()
	for {
		held, err := s.cfg.Links.TakeLink(ctx, id, most)
		if held || err != nil && most == maxLinks {
			return id, nil
		}
		if most == maxLinks {
			s.explain("all ten links of the app are taken by other replicas; one is taken over as soon as it is free")
		}
		if err := delay.Sleep(ctx, spread(slotEvery)); err != nil {
			return "", err
		}
	}
}

func (s *Socket) dropSlot(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), slotEvery)
	defer cancel()
	if err := s.cfg.Links.DropLink(ctx, id); err != nil {
		s.cfg.Log.Warn("give link back", "err", err) // it is free by itself in a few seconds
	}
}

// fail says and logs why there is no link.
func (s *Socket) fail(err error) {
	open, _ := s.State()
	if !errors.Is(err, errFinal) { // whoever is given that one logs it
		s.cfg.Log.Warn("socket mode", "err", err, "open", open)
	}
	s.explain(err.Error())
}

// explain says why there is no link.
func (s *Socket) explain(trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

func (s *Socket) opened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once
}

// State is how many links can receive, and if there is none, why.
func (s *Socket) State() (open int, trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.trouble
}
