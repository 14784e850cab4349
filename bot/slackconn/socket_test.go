package slackconn

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
)

// ignoring takes every envelope and does nothing.
type ignoring struct{}

func (ignoring) Envelope(context.Context, Envelope) *slack.ViewSubmissionResponse { return nil }

// linked receives from s. Its client keeps no connection: a synctest bubble would wait for it.
func linked(s *slacktest.End) *Socket {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return NewSocket(SocketConfig{
		Slack: Connect(Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: s.URL + "/api/", HTTP: client}),
		Links: slacktest.NewLinks(), Handler: ignoring{}, Log: slog.New(slog.DiscardHandler),
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
			open, trouble := b.State()
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

func TestARefusedTokenEndsReceiving(t *testing.T) {
	for answer, words := range map[string]string{
		"invalid_auth":           "slack refuses the app-level token: Slack doesn't know this token (invalid_auth); make an app token (xapp-…) with connections:write",
		"token_expired":          "(token_expired); make an app token",
		"token_revoked":          "the token was revoked (token_revoked); make an app token",
		"missing_scope":          "lacks a scope (missing_scope); make an app token",
		"not_allowed_token_type": "(not_allowed_token_type); make an app token (xapp-…)",
		"team_disabled":          "the workspace was disabled (team_disabled); ask an administrator",
	} {
		err := linked(slacktest.New(t, `{"ok":false,"error":"`+answer+`"}`, nil)).Receive(t.Context())
		require.ErrorIs(t, err, errFinal)
		require.ErrorContains(t, err, words)
		require.NotContains(t, err.Error(), "secret")
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

// A token that is refused later ends receiving only: events are still posted, and /readyz says what is wrong.
func TestATokenThatIsRevokedLaterEndsReceivingOnly(t *testing.T) {
	s := slacktest.New(t, "", func(*websocket.Conn, bool) {})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b := linked(s)
		ended := make(chan error, 1)
		go func() { ended <- b.Receive(ctx) }()
		time.Sleep(time.Minute)
		require.True(t, b.opened())
		s.Revoked.Store(true)
		time.Sleep(10 * time.Minute)
		opens := s.Opens.Load()
		time.Sleep(10 * time.Minute)
		require.Equal(t, opens, s.Opens.Load(), "it isn't asked again")
		require.Empty(t, ended, "nothing else ends with it")
		open, trouble := b.State()
		require.Zero(t, open)
		require.Contains(t, trouble, "revoked")
		cancel()
		require.NoError(t, <-ended)
	})
}
