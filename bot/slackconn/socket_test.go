package slackconn

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/internal/delay"
)

// ignoring takes every envelope and does nothing.
func ignoring(context.Context, string, string, []byte) *slack.ViewSubmissionResponse { return nil }

// linked receives from s. Its client keeps no connection: a synctest bubble would wait for it.
func linked(s *slacktest.End) *Socket {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return NewSocket(SocketConfig{
		Slack: Connect(Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: s.URL + "/api/", HTTP: client}),
		Links: slacktest.NewLinks(), Handle: ignoring, Log: slog.New(slog.DiscardHandler),
		Opens: prometheus.NewCounter(prometheus.CounterOpts{Name: "opens"}), Acknowledged: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "acknowledged"}),
	})
}

// A link that Slack accepts and closes at once must not be opened thousands of times.
func TestLinksThatDontLastAreOpenedLessAndLess(t *testing.T) {
	for name, serve := range map[string]func(*websocket.Conn, bool){
		"closed at once": func(*websocket.Conn, bool) {},
		"refused": func(conn *websocket.Conn, _ bool) {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"disconnect","reason":"too_many_websockets"}`))
		},
		"not understood": func(conn *websocket.Conn, _ bool) {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"disconnect","reason":"gone"}`))
		},
	} {
		s := slacktest.New(t, "", serve)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			b := linked(s)
			require.NoError(t, b.Receive(ctx), name)
			require.Less(t, s.Opens.Load(), int64(50), name)
			require.Greater(t, s.Opens.Load(), int64(15), name+": it never gives up")
			open, trouble := b.State().Open, b.State().Trouble
			require.Zero(t, open)
			require.NotEmpty(t, trouble)
		})
	}
}

// However often Slack renews a link, the next one is opened at once and never more than one a second.
func TestRenewedLinksAreOpenedAtOnce(t *testing.T) {
	s := slacktest.New(t, "", func(conn *websocket.Conn, _ bool) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"disconnect","reason":"warning"}`))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, linked(s).Receive(ctx))
		require.InDelta(t, 62, s.Opens.Load(), 4)
	})
}

// A token that Slack refuses for a minute from the start on is wrong; a shorter fault of Slack's isn't it, and neither
// is one where HTTP receives.
func TestARefusedTokenEndsReceiving(t *testing.T) {
	for answer, words := range map[string]string{
		"invalid_auth":           "slack refuses the app-level token: Slack doesn't know this token (invalid_auth); make an app token (xapp-…) with connections:write",
		"token_expired":          "(token_expired); make an app token",
		"token_revoked":          "the token was revoked (token_revoked); make an app token",
		"missing_scope":          "lacks a scope (missing_scope); make an app token",
		"not_allowed_token_type": "(not_allowed_token_type); make an app token (xapp-…)",
		"team_disabled":          "the workspace was disabled (team_disabled); ask an administrator",
	} {
		s := slacktest.New(t, `{"ok":false,"error":"`+answer+`"}`, nil)
		synctest.Test(t, func(t *testing.T) {
			b, begun := linked(s), time.Now()
			b.cfg.Alone = true
			err := b.Receive(t.Context())
			require.ErrorIs(t, err, errRefused)
			require.ErrorContains(t, err, words)
			require.NotContains(t, err.Error(), "secret")
			require.InDelta(t, refusedFor, time.Since(begun), float64(45*time.Second), "it tries for a minute")
			require.Greater(t, time.Since(begun), refusedFor)
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			require.NoError(t, linked(s).Receive(ctx), "HTTP receives")
		})
	}
	// Anything else is tried again and again, less and less often.
	for _, passing := range []string{"internal_error", "org_login_required"} { // the latter while the workspace is being moved
		s := slacktest.New(t, `{"ok":false,"error":"`+passing+`"}`, nil)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			require.NoError(t, linked(s).Receive(ctx))
			require.Less(t, s.Opens.Load(), int64(50))
			require.Greater(t, s.Opens.Load(), int64(15))
		})
	}
}

// logged is a log that several goroutines write.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Whatever Slack answers once there was a link, or answers at first for less than a minute: Slack is asked again every
// 30 s, the log says why once, and links are back by themselves.
func TestNoAnswerEndsReceivingForGood(t *testing.T) {
	for _, name := range strings.Fields(wrongToken) {
		s := slacktest.New(t, "", func(*websocket.Conn, bool) {})
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
			defer cancel()
			var lines logged
			b := linked(s)
			b.cfg.Alone, b.cfg.Log = true, slog.New(slog.NewTextHandler(&lines, nil))
			s.Refuses.Store(name)
			ended := make(chan error, 1)
			go func() { ended <- b.Receive(ctx) }()
			time.Sleep(40 * time.Second)
			trouble := b.State().Trouble
			require.Contains(t, trouble, name)
			require.Equal(t, 1, strings.Count(lines.String(), name), "at the start it is logged once")

			s.Refuses.Store("")
			time.Sleep(5 * time.Minute)
			require.True(t, b.State().Once)
			lines.Reset()
			s.Refuses.Store(name)
			time.Sleep(10 * time.Minute)
			opens := s.Opens.Load()
			time.Sleep(10 * time.Minute)
			require.InDelta(t, 2*20, s.Opens.Load()-opens, 12, "each link is asked for every 30 s")
			require.Equal(t, 1, strings.Count(lines.String(), name), lines.String())
			open, trouble := b.State().Open, b.State().Trouble
			require.Zero(t, open)
			require.Contains(t, trouble, name)
			require.Empty(t, ended)

			s.Refuses.Store("")
			lines.Reset()
			time.Sleep(time.Minute)
			require.Contains(t, lines.String(), "socket mode link opened")
			cancel()
			require.NoError(t, <-ended)
		})
	}
}

// An envelope that makes the handler panic isn't acknowledged, so that Slack tells the person, and the link goes on.
func TestAPanicOfAnEnvelopeEndsNothing(t *testing.T) {
	t.Parallel()
	acked := make(chan error, 1)
	s := slacktest.New(t, "", func(conn *websocket.Conn, _ bool) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"envelope_id":"e","type":"events_api"}`))
		_ = conn.SetReadDeadline(time.Now().Add(AckWithin + time.Second))
		_, _, err := conn.ReadMessage()
		acked <- err
	})
	b := linked(s)
	b.cfg.Handle = func(context.Context, string, string, []byte) *slack.ViewSubmissionResponse { panic("an odd one") }
	before := delay.Panics()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- b.Receive(ctx) }()
	require.ErrorContains(t, within(t, acked), "timeout", "no acknowledgement")
	require.Greater(t, delay.Panics(), before)
	cancel()
	require.NoError(t, within(t, ended))
}
