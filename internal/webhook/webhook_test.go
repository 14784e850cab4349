package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func message() webhook.Message {
	return webhook.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", At: time.Unix(1614265330, 0), ContentType: "application/json", Body: []byte(`{"test": 2432232314}`)}
}

// answering is a receiver that answers so, and how often it was called.
func answering(t *testing.T, answer http.HandlerFunc) (*webhook.Webhook, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	w, err := webhook.New(apiclient.Secret(server.URL+"/h1dden"), secret)
	require.NoError(t, err)
	return w, server
}

func failureOf(t *testing.T, err error) *webhook.Failure {
	t.Helper()
	f, ok := errors.AsType[*webhook.Failure](err)
	require.True(t, ok, "%v", err)
	require.NotContains(t, err.Error(), "h1dden", "the address is a secret")
	return f
}

// The signature is that of the rules' own example, and their library takes it.
func TestSignature(t *testing.T) {
	t.Parallel()
	keep, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	w, _ := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || keep.VerifyIgnoringTimestamp(body, r.Header) != nil || r.Header.Get("Webhook-Signature") != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
			t.Errorf("%v %v %q", r.Header, err, body)
		}
	})
	require.NoError(t, w.Send(t.Context(), message()))
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]webhook.Failure{
		http.StatusBadRequest:          {Text: "it refuses the event (400)", Refused: true},
		http.StatusUnprocessableEntity: {Text: "it refuses the event (422)", Refused: true},
		http.StatusUnauthorized:        {Text: "it doesn't let wafbot in (401): does it have the same secret?"},
		http.StatusNotFound:            {Text: "it answers with status 404"},
		http.StatusGone:                {Text: "it wants no more events (410)", Gone: true},
		http.StatusTooManyRequests:     {Text: "it says there are too many requests (429)", RetryAfter: time.Hour},
		http.StatusServiceUnavailable:  {Text: "it answers with status 503", RetryAfter: time.Hour},
	} {
		w, _ := answering(t, func(rw http.ResponseWriter, _ *http.Request) {
			if want.RetryAfter > 0 {
				rw.Header().Set("Retry-After", "100000")
			}
			rw.WriteHeader(status)
		})
		require.Equal(t, want, *failureOf(t, w.Send(t.Context(), message())), status)
	}
	for _, status := range []int{http.StatusOK, http.StatusAccepted, http.StatusNoContent} {
		w, _ := answering(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) })
		require.NoError(t, w.Send(t.Context(), message()))
	}
}

func TestRedirectsOfWebhooksAreNotFollowed(t *testing.T) {
	t.Parallel()
	w, _ := answering(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/h1dden" {
			t.Errorf("followed to %s", r.URL)
		}
		http.Redirect(rw, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	require.Contains(t, failureOf(t, w.Send(t.Context(), message())).Text, "sends wafbot elsewhere (307)")
}

// An answer without end is not read to it.
func TestAnEndlessAnswer(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	w, _ := answering(t, func(rw http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for {
			if _, err := io.WriteString(rw, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	require.NoError(t, w.Send(t.Context(), message()))
	<-ended
}

func TestAReceiverThatIsAway(t *testing.T) {
	t.Parallel()
	w, server := answering(t, nil)
	server.Close()
	require.Equal(t, "it can't be reached", failureOf(t, w.Send(t.Context(), message())).Text)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, w.Send(ended, message()), context.Canceled)
}

func TestBadWebhooksAreNone(t *testing.T) {
	t.Parallel()
	for _, bad := range []apiclient.Secret{"", "hunter2", "whsec_aHVudGVyMg==", "whsec_?", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", apiclient.Secret("whsec_" + strings.Repeat("AAAA", 30))} {
		_, err := webhook.New("https://h/", bad)
		require.ErrorContains(t, err, "is no secret of Standard Webhooks")
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := webhook.New("h1dden", secret)
	require.ErrorContains(t, err, "is no web address")
	require.NotContains(t, err.Error(), "h1dden")
}
