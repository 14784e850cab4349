package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

const form = "application/x-www-form-urlencoded"

// signedRequest is a request as Slack would send it at a time: signed with the secret.
func signedRequest(t testing.TB, address, kind, body, secret string, at time.Time) *http.Request {
	t.Helper()
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = http.Header{
		"Content-Type": {kind}, "X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
	return req
}

// signed sends such a request.
func (w *world) signed(path, kind, body string, at time.Time) (status int, answer string) {
	w.t.Helper()
	return w.do(signedRequest(w.t, w.address+path, kind, body, w.cfg.Slack.SigningSecret.Reveal(), at))
}

func TestForgedLateAndOversized(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		command := w.types("vic", "whoami")
		w.ephemeral("vic", "viewer")
		forged, err := w.Slack.Forge(t.Context(), command)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, forged.Status)

		deny := url.Values{"command": {"/waf"}, "text": {"deny 198.51.100.9"}, "user_id": {"U0ANN0001"}, "team_id": {"T0SANDBOX"}, "channel_id": {"C0WAF0001"}}.Encode()
		for _, off := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
			status, _ := w.signed("/slack/commands", form, deny, time.Now().Add(off))
			require.Equal(t, http.StatusUnauthorized, status, "%s off", off)
		}
		for _, path := range []string{"/slack/commands", "/slack/interactions", "/slack/events"} {
			status, _ := w.signed(path, form, strings.Repeat("x", 1<<20+1), time.Now())
			require.Equal(t, http.StatusRequestEntityTooLarge, status)
			status, _ = w.get(path)
			require.Equal(t, http.StatusMethodNotAllowed, status)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.address+path, strings.NewReader(deny))
			require.NoError(t, err)
			status, _ = w.do(req)
			require.Equal(t, http.StatusUnauthorized, status, "no signature")
		}
		status, _ := w.get("/nowhere")
		require.Equal(t, http.StatusNotFound, status)
		w.acknowledged(w.Slack.VerifyURL(t.Context()))
		require.Empty(t, w.sent())

		status, _ = w.signed("/slack/commands", form, deny, time.Now().Add(-4*time.Minute))
		require.Equal(t, http.StatusOK, status, "the same is done when it is signed in time")
		w.message("#waf", "Deny 198.51.100.9")
	})
}

func TestWhatTheBotDoesNotUnderstandIsAcknowledged(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		click := w.card(attacker).click("rob", "Deny "+attacker)
		w.ephemeral("rob", "accepted by the service")
		values, err := url.ParseQuery(click.EnvelopeBody)
		require.NoError(t, err)
		var payload map[string]any
		require.NoError(t, json.Unmarshal([]byte(values.Get("payload")), &payload))
		sends := func(key string, value any) {
			t.Helper()
			old := payload[key]
			payload[key], payload["trigger_id"] = value, rand.Text() // each is a press of its own
			text, err := json.Marshal(payload)
			require.NoError(t, err)
			payload[key] = old
			status, _ := w.signed("/slack/interactions", form, url.Values{"payload": {string(text)}}.Encode(), time.Now())
			require.Equal(t, http.StatusOK, status)
		}
		action := func(id string) []any {
			return []any{map[string]any{"type": "button", "action_id": id, "value": "deny 198.51.100.77"}}
		}
		sends("actions", action("retired_in_v2"))
		w.ephemeral("rob", "This message is out of date", "status", "help")
		sends("actions", []any{})
		sends("type", "block_suggestion_of_tomorrow")
		w.until("three answers", func() bool { return len(w.ephemerals("rob", "This message is out of date")) == 3 })
		sends("actions", action("link:7")) // the client has opened the address

		sends("actions", "no list")
		for _, body := range []string{"payload=%7Bnope", "payload=", "", "%zz", "payload=[]"} {
			status, _ := w.signed("/slack/interactions", form, body, time.Now())
			require.Equal(t, http.StatusOK, status, body)
			status, _ = w.signed("/slack/events", "application/json", body, time.Now())
			require.Equal(t, http.StatusOK, status, body)
		}
		status, _ := w.signed("/slack/commands", form, "%zz", time.Now())
		require.Equal(t, http.StatusOK, status)
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.ephemerals("rob"), 4)
	})
}
