package bot

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

const signingSecret = "a secret of the tests"

// sign is the signature as Slack's documentation describes it, not as the library computes it.
func sign(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// alone is a Server whose inbox also shares its links, where it can, and whose runner knows the verbs.
func alone(cfg Config) *Server {
	cfg.Verbs, _ = cfg.Runner.(Verbs)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Clocks, cfg.Metrics = cmp.Or(cfg.Clocks, clock.New()), metrics.New()
	cfg.Damaged = func(context.Context) []string { return nil }
	cfg.Broken = func() map[string]string { return nil }
	cfg.State = func(context.Context) metrics.State { return metrics.State{} }
	cfg.Links, _ = cfg.Inbox.(slackconn.Links)
	return New(cfg)
}

// deliver posts an event and returns the status.
func deliver(t *testing.T, b *Server, stamp, signature, body string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/slack/events", strings.NewReader(body))
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set(headerSignature, signature)
	w := httptest.NewRecorder()
	b.handler().ServeHTTP(w, r)
	return w.Code
}

// A machine's clock that is wrong doesn't make a signature stale, nor an old one fresh: Redis' counts.
func TestSignaturesWhereAClockIsWrong(t *testing.T) {
	t.Parallel()
	const body = `{"type":"event_callback"}`
	behind := clock.New()
	behind.NoteRedis(time.Now(), time.Now().Add(time.Hour))
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret, Clocks: behind})
	for off, status := range map[time.Duration]int{
		0: http.StatusOK, -6 * time.Minute: http.StatusUnauthorized, 6 * time.Minute: http.StatusUnauthorized, -time.Hour: http.StatusUnauthorized,
		time.Hour: http.StatusUnauthorized,
	} {
		stamp := strconv.FormatInt(time.Now().Add(time.Hour+off).Unix(), 10)
		require.Equal(t, status, deliver(t, b, stamp, sign(signingSecret, stamp, body), body), "%s off", off)
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
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
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
	f.Fuzz(func(t *testing.T, stamp, signature, body string) {
		status := deliver(t, b, stamp, signature, body)
		if status == http.StatusOK {
			// Only a request with the secret is accepted, and only for five minutes.
			require.Equal(t, sign(signingSecret, stamp, body), strings.ToLower(signature))
			sent, err := strconv.ParseInt(stamp, 10, 64)
			require.NoError(t, err)
			require.InDelta(t, time.Now().Unix(), sent, 301)
			return
		}
		require.Equal(t, http.StatusUnauthorized, status)
	})
}

// linkStore takes links and deliveries, and nothing else.
type linkStore struct {
	Inbox
	*slacktest.Links
	mu    sync.Mutex
	names map[string]bool
}

func newLinkStore() *linkStore {
	return &linkStore{Links: slacktest.NewLinks(), names: map[string]bool{}}
}

func (m *linkStore) Ping(context.Context) error { return nil }

func (m *linkStore) First(_ context.Context, _ string, names ...string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := true
	for _, name := range names {
		fresh = fresh && !m.names[name]
		m.names[name] = true
	}
	return fresh, nil
}

// owner owns no account.
type owner struct{ Notifier }

func (owner) Owns(string) bool { return false }

// noRunner refuses every line.
type noRunner struct{}

func (noRunner) Changes(record.Line) bool                      { return false }
func (noRunner) Missing(record.Line, string) bool              { return false }
func (noRunner) Fillable(record.Line) bool                     { return false }
func (noRunner) InThread(l record.Line, _ string) record.Line  { return l }
func (noRunner) Refuses(context.Context, call.Invocation) bool { return false }
func (noRunner) Form(context.Context, call.Invocation) (call.Form, error) {
	return call.Form{}, refusal.ErrUnknown
}
func (noRunner) May(context.Context, call.Invocation) error { return nil }

func (noRunner) Permitted(context.Context, call.Invocation, string, []record.Line) ([]bool, text.Text) {
	return nil, nil
}
func (noRunner) Do(context.Context, call.Invocation) (call.Result, error) {
	return call.Result{}, errors.New("nothing can be done here")
}

// linkedBot receives from s. Its client keeps no connection: a synctest bubble would wait for it.
func linkedBot(s *slacktest.End) *Server {
	store := newLinkStore()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	return alone(Config{
		Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: s.URL + "/api/", HTTP: client}),
		Inbox: store, Notifier: owner{}, Runner: noRunner{}, Secret: signingSecret,
	})
}

// Every envelope is acknowledged on its own link, with nothing but its id.
func TestEveryEnvelopeIsAcknowledged(t *testing.T) {
	t.Parallel()
	frames := []string{
		`{"envelope_id":"e1","type":"interactive","payload":{"type":"block_actions","actions":[{"action_id":"gone","value":"x"}],"user":{"id":"U1"}}}`,
		`{"envelope_id":"e2","type":"interactive","payload":["no object"]}`,
		`{"envelope_id":"e3","type":"interactive","payload":{"type":7}}`,
		`{"envelope_id" : "e4","type":"interactive","payload":{`,
		`{"type":{},"envelope_id":"e5"}`,
		`{"envelope_id":"e6","type":"from_the_future","payload":{}}`,
		`{"envelope_id":"e7","type":"slash_commands","payload":{"text":"'","user_id":"U1","channel_id":""}}`,
		`{"envelope_id":"e8","type":"events_api","payload":{"type":"event_callback","event":{"type":"message","text":"` + strings.Repeat("x", 1<<20) + `"}}}`,
		`{"envelope_id":"e8","type":"events_api","payload":{"type":"app_rate_limited"}}`,
		`no frame at all`,
		`{"envelope_id":"e9","type":"slash_commands"}`,
	}
	acks := make(chan string, len(frames))
	s := slacktest.New(t, "", func(conn *websocket.Conn, first bool) {
		if !first {
			_, _, _ = conn.ReadMessage() // the spare one
			return
		}
		for _, f := range frames {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(f))
		}
		for {
			_, ack, err := conn.ReadMessage()
			if err != nil {
				return
			}
			acks <- strings.TrimSpace(string(ack))
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- linkedBot(s).Receive(ctx) }()
	var got []string
	for len(got) < len(frames)-1 {
		select {
		case ack := <-acks:
			got = append(got, ack)
		case <-time.After(time.Minute):
			t.Fatalf("only %q", got)
		}
	}
	cancel()
	require.NoError(t, <-ended)
	want := []string{}
	for _, id := range []string{"e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e8", "e9"} {
		want = append(want, `{"envelope_id":"`+id+`"}`)
	}
	require.ElementsMatch(t, want, got)
}

// A token that was good at the start may be revoked by now.
func TestReadinessShowsSlackAsItIsNow(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", nil)
	b := linkedBot(s)
	deliverEvent(t, b, "Ev1", wrote("U0ROB", "1795000000.000100", "status"))
	s.Unknown.Store(true)
	status, body := get(t, b, "/readyz")
	require.Equal(t, http.StatusOK, status, "Slack's state is in the body only")
	require.Contains(t, body, `"slack":"can't be used: Slack has a fault of its own (internal_error)"`)
}

// With an app token Slack uses Socket Mode: that HTTP is open says nothing, unless Slack says that Socket Mode is off,
// or sent a request lately.
func TestReadinessIsOfWhatSlackUses(t *testing.T) {
	refused := func(name string) *Server {
		s := slacktest.New(t, "", nil)
		s.Refuses.Store(name)
		b := linkedBot(s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Receive(ctx) }()
		require.Eventually(t, func() bool { return b.Socket.State().Trouble != "" }, time.Minute, 10*time.Millisecond)
		cancel()
		require.NoError(t, <-ended)
		return b
	}
	b := refused("invalid_auth")
	status, body := get(t, b, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"http":"unused: the app has Socket Mode"`)
	require.Contains(t, body, `"socket mode":"nothing can be received: slack refuses the app-level token`)
	require.Nil(t, b.state(t.Context()).Accounts)
	require.False(t, b.state(t.Context()).Receiving)
	require.Zero(t, *b.state(t.Context()).SocketLinks)

	deliverEvent(t, b, "Ev1", wrote("U0ROB", "1795000000.000100", "status"))
	status, body = get(t, b, "/readyz")
	require.Equal(t, http.StatusOK, status, "Slack sent something")
	require.Contains(t, body, `"http":"ok"`)
	b.sent.Store(time.Now().Add(-overHTTP).Unix())
	status, _ = get(t, b, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)

	b = refused("socket_mode_not_enabled")
	status, body = get(t, b, "/readyz")
	require.Equal(t, http.StatusOK, status, "Slack says that it uses HTTP")
	require.Contains(t, body, `"http":"ok; no event since the start. If mentions get no answer, press Retry`)
	stamp, check := strconv.FormatInt(time.Now().Unix(), 10), `{"type":"url_verification","challenge":"x"}`
	require.Equal(t, http.StatusOK, deliver(t, b, stamp, sign(signingSecret, stamp, check), check))
	_, body = get(t, b, "/readyz")
	require.Contains(t, body, `"http":"ok; no event since the start`, "a challenge is no event")
	deliverEvent(t, b, "Ev1", wrote("U0ROB", "1795000000.000100", "status"))
	_, body = get(t, b, "/readyz")
	require.Contains(t, body, `"http":"ok"`)
}

// What panics in a delivery over HTTP is answered with an error, of which Slack tells the person, and counted.
func TestAPanicOfADeliveryIsAnswered(t *testing.T) {
	t.Parallel()
	b := linkedBot(slacktest.New(t, "", nil))
	before := delay.Panics()
	b.Accounts = accountsNamed("acme")
	b.AttackAt = func(context.Context, string, string, string) (string, error) { panic("odd") }
	event := wrote("U0ROB", "1795000000.000100", "status")
	event["thread_ts"] = "1794000000.000100"
	body, err := json.Marshal(map[string]any{"type": "event_callback", "event": event})
	require.NoError(t, err)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	require.Equal(t, http.StatusInternalServerError,
		deliver(t, b, stamp, sign(signingSecret, stamp, string(body)), string(body)))
	require.Greater(t, delay.Panics(), before)
}
