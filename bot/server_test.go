package bot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

const signingSecret = "a secret of the tests"

// sign is the signature as Slack's documentation describes it, not as the library computes it.
func sign(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver posts an event and returns the status.
func deliver(t *testing.T, b *Bot, stamp, signature, body string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/slack/events", strings.NewReader(body))
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set(headerSignature, signature)
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return w.Code
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	b := New(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
	at := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	const body = `{"type":"event_callback"}`
	now := at(0)
	require.Equal(t, http.StatusOK, deliver(t, b, now, sign(signingSecret, now, body), body))
	for name, refused := range map[string][2]string{
		"another secret":  {now, sign("another", now, body)},
		"another body":    {now, sign(signingSecret, now, body+" ")},
		"another time":    {now, sign(signingSecret, at(-time.Minute), body)},
		"too old":         {at(-6 * time.Minute), sign(signingSecret, at(-6*time.Minute), body)},
		"too far ahead":   {at(6 * time.Minute), sign(signingSecret, at(6*time.Minute), body)},
		"no signature":    {now, ""},
		"no time":         {"", sign(signingSecret, "", body)},
		"cut":             {now, sign(signingSecret, now, body)[:40]},
		"without version": {now, strings.TrimPrefix(sign(signingSecret, now, body), "v0=")},
	} {
		require.Equal(t, http.StatusUnauthorized, deliver(t, b, refused[0], refused[1], body), name)
	}
}

func FuzzSignature(f *testing.F) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	f.Add(now, sign(signingSecret, now, "{}"), "{}")
	f.Add(now, "v0=", "{}")
	f.Add("-1", "v0=00", "")
	f.Add("9223372036854775807", "v1="+strings.Repeat("0", 64), "payload=%7B%7D")
	f.Add("1e9", "v0=zz", "\x00")
	b := New(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
	f.Fuzz(func(t *testing.T, stamp, signature, body string) {
		status := deliver(t, b, stamp, signature, body)
		if status == http.StatusOK {
			// Only who knows the secret gets in, and only now.
			require.Equal(t, sign(signingSecret, stamp, body), strings.ToLower(signature))
			sent, err := strconv.ParseInt(stamp, 10, 64)
			require.NoError(t, err)
			require.InDelta(t, time.Now().Unix(), sent, 301)
			return
		}
		require.Equal(t, http.StatusUnauthorized, status)
	})
}
