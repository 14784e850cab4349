package bot

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// roundTrip answers requests without a network.
type roundTrip func(r *http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// wellMemory can be written, and nothing else.
type wellMemory struct{ Memory }

func (wellMemory) Ping(context.Context) error { return nil }

// A token that Slack took at first may be revoked later: /readyz tells within a minute, and asks no more often.
func TestReadyTellsOfARevokedToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer, asked := `{"ok":true,"user_id":"U0WAFBOT","team_id":"T1"}`, 0
		slack := Connect(SlackConfig{Token: "xoxb-secret", HTTP: &http.Client{Transport: roundTrip(func(*http.Request) *http.Response {
			asked++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}
		})}})
		b := New(Config{Slack: slack, Secret: signingSecret, Memory: wellMemory{}})
		ready := func() string {
			w := httptest.NewRecorder()
			b.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
			require.Equal(t, http.StatusOK, w.Code, "one tenant's token never takes the bot out")
			return w.Body.String()
		}
		require.Contains(t, ready(), `"slack":"ok"`)
		answer = `{"ok":false,"error":"token_revoked"}`
		require.Contains(t, ready(), `"slack":"ok"`)
		require.Equal(t, 1, asked)
		time.Sleep(time.Minute)
		require.Contains(t, ready(), `"slack":"can't be used: token_revoked"`)
		require.Contains(t, ready(), `"slack":"can't be used: token_revoked"`)
		require.Equal(t, 3, asked)
	})
}
