package slackconn

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
)

// dropping gives no answer at all.
type dropping struct{ asked int }

func (d *dropping) RoundTrip(r *http.Request) (*http.Response, error) {
	d.asked++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Where response URLs get no answer the first one alone waits for it, for five minutes, and it is logged once.
func TestASilentResponseHostIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		way := &dropping{}
		s := Connect(Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: way, Timeout: Timeout}, Log: slog.New(slog.NewTextHandler(&lines, nil))})
		respond := func() time.Duration {
			begun := time.Now()
			require.Error(t, s.Respond(t.Context(), "https://hooks.slack.com/commands/secret", &slack.WebhookMessage{}))
			return time.Since(begun)
		}
		require.Equal(t, Timeout, respond())
		for range 20 {
			require.Zero(t, respond())
		}
		require.Equal(t, 1, way.asked)
		require.Equal(t, 1, strings.Count(lines.String(), "host=hooks.slack.com"))
		require.NotContains(t, lines.String(), "secret")
		time.Sleep(silentAgain)
		require.Equal(t, Timeout, respond(), "then it is tried again")
	})
}

// Where response URLs lead follows from where the API is.
func TestResponses(t *testing.T) {
	t.Parallel()
	for api, host := range map[string]string{
		"": "https://hooks.slack.com", "https://slack.com/api/": "https://hooks.slack.com", "https://slack-gov.com/api/": "https://hooks.slack-gov.com",
		"http://127.0.0.1:8090/slack/api/": "http://127.0.0.1:8090",
	} {
		require.Equal(t, host, Responses(api))
	}
}
