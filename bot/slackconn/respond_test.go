package slackconn

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strconv"
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

// saying answers every request alike.
type saying struct {
	status int
	body   string
}

func (s saying) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Status: strconv.Itoa(s.status) + " X", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.body)), Request: r,
	}, nil
}

// Slack refuses with the status 200. Whatever else comes is a fault, or somebody's between: the answer to a mention was
// given up at a proxy's redirect, and people heard nothing.
func TestAnAnswerIsGivenUpOnlyWhereSlackRefusesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		saying
		sent, again bool
	}{
		{saying{200, `{"ok":true}`}, true, false},
		{saying{200, `{"ok":false,"error":"user_not_in_channel"}`}, false, false},
		{saying{200, `{"ok":false,"error":"internal_error"}`}, false, true},
		{saying{200, "null"}, false, true},
		{saying{200, "<html>Log in here</html>"}, false, true},
		{saying{204, ""}, false, true},
		{saying{302, ""}, false, true},
		{saying{403, ""}, false, true},
		{saying{407, ""}, false, true},
		{saying{429, ""}, false, true},
		{saying{502, "<html>no</html>"}, false, true},
		{saying{999, ""}, false, true},
	} {
		s := Connect(Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: c.saying}})
		err := s.Ephemeral(t.Context(), Place{Channel: "C0WAF"}, "U0ROB", slack.MsgOptionText("done", false))
		require.Equal(t, c.sent, err == nil, "%v: %v", c.saying, err)
		if err != nil {
			_, again := Again(err)
			require.Equal(t, c.again, again, c.saying)
		}
	}
}

// A response URL takes an answer by saying so. Whoever between says something else has not delivered it.
func TestAResponseURLSaysThatItTookAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		saying
		taken, again bool
	}{
		{saying{200, "ok"}, true, false},
		{saying{200, `{"ok":true}`}, true, false},
		{saying{200, `{"ok":false,"error":"used_url"}`}, false, false},
		{saying{404, `{"ok":false,"error":"expired_url"}`}, false, false},
		{saying{200, "null"}, false, true},
		{saying{200, "{}"}, false, true},
		{saying{200, "<html>Log in here</html>"}, false, true},
		{saying{204, ""}, false, true},
		{saying{302, ""}, false, true},
		{saying{500, ""}, false, true},
		{saying{999, ""}, false, true},
	} {
		s := Connect(Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: c.saying}})
		err := s.Respond(t.Context(), "https://hooks.slack.com/commands/secret", &slack.WebhookMessage{})
		require.Equal(t, c.taken, err == nil, "%v: %v", c.saying, err)
		if err != nil {
			_, again := Again(err)
			require.Equal(t, c.again, again, c.saying)
		}
	}
}
