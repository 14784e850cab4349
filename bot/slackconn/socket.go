package slackconn

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/internal/delay"
)

// MaxLinks is how many Socket Mode links Slack gives an app. Each replica has one to receive, and a spare one, so that
// nothing is missed while the other is renewed. A spare never takes the last link: that is for the next replica.
const (
	MaxLinks  = 10
	maxSpares = MaxLinks - 1
)

// Pace of opening links. The pause doubles while links don't last.
const (
	openEvery   = time.Second
	openBurst   = 4           // both links, and both again if Slack renews them together
	firstPause  = time.Second // after a link that did not last, doubling
	longestWait = time.Minute
	lasting     = 30 * time.Second // a link that was open this long resets the pause
	slotEvery   = time.Second      // how often a free slot is looked for

	refusedAgain = 30 * time.Second // the longest pause while Slack refuses the token
	refusedFor   = time.Minute      // from the start on, before the token is taken for a wrong one
)

// Links shares the app's Socket Mode links among all replicas.
type Links interface {
	// TakeLink takes a slot, or renews it for ten seconds, if at most so many are taken then.
	TakeLink(ctx context.Context, id string, most int) (held bool, err error)
	DropLink(ctx context.Context, id string) error
}

// SocketConfig is what a Socket works with.
type SocketConfig struct {
	Slack *Client
	Links Links
	// Handle handles an envelope by its id and type: slash_commands, interactive or events_api. Its result is sent with
	// the acknowledgement; nil: none.
	Handle       func(ctx context.Context, id, kind string, payload []byte) *slack.ViewSubmissionResponse
	Alone        bool                // nothing else receives: a token that is wrong from the start is an error
	Opens        prometheus.Counter  // attempts to open a link
	Acknowledged prometheus.Observer // seconds from an envelope to its acknowledgement
	Log          *slog.Logger
}

// Socket receives over Socket Mode.
type Socket struct {
	cfg    SocketConfig
	opener *rate.Limiter

	mu    sync.Mutex
	state SocketState
}

// SocketState is how a Socket's links stand.
type SocketState struct {
	Open    int    // links that can receive
	Once    bool   // there was a link
	Trouble string // why the last link could not be opened or kept
	Off     bool   // Slack said that the app's Socket Mode is switched off: then it delivers over HTTP
}

// NewSocket makes a Socket. It opens nothing.
func NewSocket(cfg SocketConfig) *Socket {
	return &Socket{cfg: cfg, opener: rate.NewLimiter(rate.Every(openEvery), openBurst)}
}

// Receive receives over Socket Mode until the context ends. It returns at once if there is no app token. A token that
// Slack refuses is tried again for ever, because the same answer passes with a fault of Slack's: only where nothing
// else receives, and Slack has said nothing else for a minute from the start on, is it an error.
func (s *Socket) Receive(ctx context.Context) error {
	if s.cfg.Slack.AppToken == "" {
		return nil
	}
	g, keep := errgroup.WithContext(ctx)
	for _, most := range []int{MaxLinks, maxSpares} {
		g.Go(func() error {
			return delay.Again(keep, s.cfg.Log, "a link", func() error { return s.keep(keep, most) })
		})
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// keep keeps a link open until the context ends, or the token is wrong. When Slack announces a link's end, the next one
// is opened while the old one is read to its end.
func (s *Socket) keep(ctx context.Context, most int) error {
	var links sync.WaitGroup
	defer links.Wait()
	var refused time.Time // since when Slack says nothing else; zero: it doesn't
	for failed := 0; ; failed++ {
		wait, longest := time.Duration(0), longestWait
		l, err := s.openLink(ctx, most)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errRefused):
			if refused.IsZero() {
				refused = time.Now()
			}
			if s.cfg.Alone && !s.State().Once && time.Since(refused) >= refusedFor {
				return err
			}
			longest = refusedAgain
		case err != nil:
			refused, wait = time.Time{}, min(retryAfter(err), longestWait)
		default:
			refused = time.Time{}
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
				failed = -1
				continue
			}
		}
		if err := delay.Sleep(ctx, max(wait, spread(delay.Backoff(failed, firstPause, longest)))); err != nil {
			return err
		}
	}
}

// spread varies a wait by a quarter, so that replicas that lost their links together don't reconnect together.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*3/4, d*5/4) }

// openLink opens a link as soon as a slot is free (apps.connections.open).
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
	s.state = SocketState{Open: s.state.Open + 1, Once: true}
	s.cfg.Log.InfoContext(ctx, "socket mode link opened", "open", s.state.Open)
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
		case slices.Contains(strings.Fields(wrongToken), ErrorName(err)):
			return nil, fmt.Errorf("%w: %s; %s", errRefused, t.Text, t.Fix)
		case said:
			return nil, fmt.Errorf("open link: %w; %s", err, t.Fix)
		}
		return nil, fmt.Errorf("open link: %w", err)
	}
	return dialLink(ctx, address)
}

// errRefused marks an answer of Slack that a wrong token gets.
var errRefused = errors.New("slack refuses the app-level token")

// wrongToken are Slack's names of such answers.
const wrongToken = "not_authed invalid_auth token_expired token_revoked not_allowed_token_type missing_scope " +
	"account_inactive user_removed_from_team team_disabled no_permission access_denied"

// retryAfter is the wait that Slack asks for; 0: none.
func retryAfter(err error) time.Duration {
	if limited, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return limited.RetryAfter
	}
	return 0
}

// TrySocket checks the app token: it asks for the address of a Socket Mode link, which must stay secret, and doesn't
// connect, so that none of the app's ten links is taken (apps.connections.open).
func (s *Client) TrySocket(ctx context.Context) (address string, err error) {
	if _, address, err = s.api.StartSocketModeContext(ctx); err != nil {
		return "", fmt.Errorf("ask slack for a socket mode link: %w", err)
	}
	return address, nil
}

// takeSlot waits for a free slot. While Redis is unreachable a spare link waits, but the first one is opened: users
// must learn why nothing works.
func (s *Socket) takeSlot(ctx context.Context, most int) (id string, err error) {
	id = rand.Text()
	for {
		held, err := s.cfg.Links.TakeLink(ctx, id, most)
		if held || err != nil && most == MaxLinks {
			return id, nil
		}
		if most == MaxLinks {
			s.fail(errors.New("all ten links of the app are taken by other replicas; one is taken over as soon as it is free"))
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
		s.cfg.Log.WarnContext(ctx, "release link", "err", err) // it expires in a few seconds
	}
}

// fail records why there is no link, and logs it when that is another reason than before.
func (s *Socket) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err.Error() != s.state.Trouble {
		s.cfg.Log.Warn("socket mode", "err", err, "open", s.state.Open)
	}
	s.state.Trouble = err.Error()
	if name := ErrorName(err); name != "" {
		s.state.Off = name == "socket_mode_not_enabled"
	}
}

// State is how the links stand.
func (s *Socket) State() SocketState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
