package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// slackEnd is Slack's end, as rough as a test wants it.
type slackEnd struct {
	*httptest.Server
	opens   atomic.Int64
	unknown atomic.Bool // whose token it is
	revoked atomic.Bool // the app-level token

	greeting func(conn *websocket.Conn) // nil: a good one

	mu   sync.Mutex
	told map[string][]string // texts by who was shown them
}

// newSlackEnd answers apps.connections.open, with a good link if the answer is "". What it serves after the greeting of a link is as rough as
// a test wants it; then the connection is closed.
func newSlackEnd(t *testing.T, answer string, serve func(conn *websocket.Conn, first bool)) *slackEnd {
	t.Helper()
	s := &slackEnd{told: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/auth.test", func(w http.ResponseWriter, _ *http.Request) {
		if s.unknown.Load() {
			_, _ = io.WriteString(w, `{"ok":false,"error":"internal_error"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"team_id":"T0OURS","user_id":"U0BOT","bot_id":"B0BOT"}`)
	})
	mux.HandleFunc("/api/chat.postEphemeral", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told[r.FormValue("user")] = append(s.told[r.FormValue("user")], r.FormValue("text"))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, _ *http.Request) {
		n := s.opens.Add(1)
		switch {
		case s.revoked.Load():
			_, _ = io.WriteString(w, `{"ok":false,"error":"token_revoked"}`)
			return
		case answer != "":
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = fmt.Fprintf(w, `{"ok":true,"url":"ws://%s/link?ticket=a-ticket&n=%d"}`, s.Listener.Addr(), n)
	})
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		if s.greeting != nil {
			s.greeting(conn)
			return
		}
		if conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1}`)) == nil {
			serve(conn, r.FormValue("n") == "1")
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// linkMemory gives out links and takes deliveries, and nothing else.
type linkMemory struct {
	Memory
	mu    sync.Mutex
	taken map[string]bool
	names map[string]bool
}

func (m *linkMemory) TakeLink(_ context.Context, id string, most int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken[id] = true
	if len(m.taken) > most {
		delete(m.taken, id)
		return false, nil
	}
	return true, nil
}

func (m *linkMemory) DropLink(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.taken, id)
	return nil
}

func (m *linkMemory) Ping(context.Context) error { return nil }

func (m *linkMemory) First(_ context.Context, names ...string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := true
	for _, name := range names {
		fresh = fresh && !m.names[name]
		m.names[name] = true
	}
	return fresh, nil
}

// noRunner refuses every line.
type noRunner struct{}

func (noRunner) Changes(record.Line) bool                     { return false }
func (noRunner) Missing(record.Line, string) bool             { return false }
func (noRunner) Fillable(record.Line) bool                    { return false }
func (noRunner) InThread(l record.Line, _ string) record.Line { return l }
func (noRunner) Form(context.Context, call.Invocation) (call.Form, error) {
	return call.Form{}, refusal.ErrUnknown
}
func (noRunner) Do(context.Context, call.Invocation) (call.Result, error) {
	return call.Result{}, errors.New("nothing can be done here")
}

// linkedBot receives from that end of Slack's. Its client keeps no connection, which a bubble would wait for.
func linkedBot(s *slackEnd) *Bot {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return New(Config{
		Slack:  Connect(SlackConfig{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: s.URL + "/api/", HTTP: client}),
		Memory: &linkMemory{taken: map[string]bool{}, names: map[string]bool{}}, Runner: noRunner{}, Secret: signingSecret,
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
		s := newSlackEnd(t, "", serve)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			b := linkedBot(s)
			require.NoError(t, b.Receive(ctx), name)
			require.Less(t, s.opens.Load(), int64(50), name)
			require.Greater(t, s.opens.Load(), int64(15), name+": it never gives up")
			open, trouble := b.socket.state()
			require.Zero(t, open)
			require.NotEmpty(t, trouble)
		})
	}
}

// However often Slack renews a link, the next one is opened at once and never more than one a second.
func TestRenewedLinksAreOpenedAtOnce(t *testing.T) {
	s := newSlackEnd(t, "", func(conn *websocket.Conn, _ bool) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"disconnect","reason":"warning"}`))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, linkedBot(s).Receive(ctx))
		require.InDelta(t, 62, s.opens.Load(), 4)
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
		err := linkedBot(newSlackEnd(t, `{"ok":false,"error":"`+answer+`"}`, nil)).Receive(t.Context())
		require.ErrorIs(t, err, errFinal)
		require.ErrorContains(t, err, words)
		require.NotContains(t, err.Error(), "secret")
	}
	// Anything else is tried again and again, less and less often.
	for _, passing := range []string{"internal_error", "org_login_required"} { // the latter while the workspace is being moved
		s := newSlackEnd(t, `{"ok":false,"error":"`+passing+`"}`, nil)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			require.NoError(t, linkedBot(s).Receive(ctx))
			require.Less(t, s.opens.Load(), int64(50))
			require.Greater(t, s.opens.Load(), int64(15))
		})
	}
}

// A token that is refused later ends the receiving only: the bot goes on telling, and /readyz says what is wrong.
func TestATokenThatIsRevokedLaterEndsReceivingOnly(t *testing.T) {
	s := newSlackEnd(t, "", func(*websocket.Conn, bool) {})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		b := linkedBot(s)
		ended := make(chan error, 1)
		go func() { ended <- b.Receive(ctx) }()
		time.Sleep(time.Minute)
		require.True(t, b.socket.opened())
		s.revoked.Store(true)
		time.Sleep(10 * time.Minute)
		opens := s.opens.Load()
		time.Sleep(10 * time.Minute)
		require.Equal(t, opens, s.opens.Load(), "it isn't asked again")
		require.Empty(t, ended, "nothing else ends with it")
		open, trouble := b.socket.state()
		require.Zero(t, open)
		require.Contains(t, trouble, "revoked")
		cancel()
		require.NoError(t, <-ended)
	})
}

// Whatever an envelope holds, it is acknowledged, on the link it came by and with nothing but its id.
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
	s := newSlackEnd(t, "", func(conn *websocket.Conn, first bool) {
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
		case <-time.After(10 * time.Second):
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
