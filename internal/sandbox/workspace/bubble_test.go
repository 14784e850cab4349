package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// pipes is a listener within this process, for worlds whose time isn't real.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipes() *pipes {
	closed := make(chan struct{})
	return &pipes{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.accepted <- newBuffered(theirs):
		return newBuffered(ours), nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// buffered is an end of a pipe that takes writes without waiting for the reader, and
// hands over what was written before it closes, both as TCP does.
type buffered struct {
	net.Conn
	mu     sync.Mutex
	closed bool
	out    chan []byte
}

func newBuffered(conn net.Conn) *buffered {
	b := &buffered{Conn: conn, out: make(chan []byte, 1000)}
	go func() {
		defer conn.Close()
		for written := range b.out {
			if _, err := conn.Write(written); err != nil {
				return
			}
		}
	}()
	return b
}

func (b *buffered) Write(raw []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	b.out <- bytes.Clone(raw)
	return len(raw), nil
}

func (b *buffered) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.out)
	}
	return nil
}

func (b *buffered) SetDeadline(t time.Time) error    { return b.SetReadDeadline(t) }
func (b *buffered) SetWriteDeadline(time.Time) error { return nil } // writes don't wait

// bubble is a workspace in a bubble of its own time, which is reached through pipes.
type bubble struct {
	*workspace.Workspace
	t      *testing.T
	dial   func(context.Context, string, string) (net.Conn, error)
	client *http.Client
	start  time.Time
}

// inBubble plays a story in a workspace without address, so that everything goes over links.
func inBubble(t *testing.T, play func(b *bubble), change ...func(*workspace.Config)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		cfg := workspace.Config{
			AppToken: appToken, BotToken: token, SigningSecret: secret, BaseURL: "http://slack.test/slack",
			Users: []workspace.User{{ID: "U1ANN", Name: "ann"}, {ID: "U2BOB", Name: "bob"}, {ID: "U3EVE", Name: "eve", TeamID: "T9OTHER", Stranger: true}},
			Channels: []workspace.Channel{
				{ID: "C1WAF", Name: "waf", BotIsMember: true}, {ID: "C2NOBOT", Name: "nobot"},
				{ID: "G4OURS", Name: "ours", Private: true, BotIsMember: true, Members: []string{"U1ANN"}},
			},
			UserGroups: []workspace.UserGroup{{ID: "S1SEC", Handle: "secops", Name: "Security"}},
		}
		for _, f := range change {
			f(&cfg)
		}
		w, err := workspace.New(cfg)
		require.NoError(t, err)
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: w}}
		server.Start()
		defer server.Close()
		defer w.Close()
		if cfg.Deliver != "" {
			_, err := w.VerifyURL(t.Context())
			require.NoError(t, err)
			require.True(t, w.Verified())
		}
		transport := &http.Transport{DialContext: listener.dial, DisableKeepAlives: true}
		play(&bubble{Workspace: w, t: t, dial: listener.dial, client: &http.Client{Transport: transport}, start: time.Now()})
	})
}

// call calls a method of the Web API.
func (b *bubble) call(method, token, body string) map[string]any {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://slack.test/slack/api/"+method, strings.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := b.client.Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	var answer map[string]any
	require.NoError(b.t, json.NewDecoder(response.Body).Decode(&answer))
	return answer
}

// passed is how long the story has been going on.
func (b *bubble) passed() time.Duration { return time.Since(b.start) }

// frame is what came over a link, and when.
type frame struct {
	Type           string
	Reason         string
	NumConnections int `json:"num_connections"`
	DebugInfo      struct {
		Host                      string
		ApproximateConnectionTime int `json:"approximate_connection_time"`
	} `json:"debug_info"`
	ConnectionInfo struct {
		AppID string `json:"app_id"`
	} `json:"connection_info"`
	EnvelopeID             string `json:"envelope_id"`
	AcceptsResponsePayload bool   `json:"accepts_response_payload"`
	RetryAttempt           *int   `json:"retry_attempt"`
	RetryReason            string `json:"retry_reason"`
	Payload                map[string]any
	raw                    string
	err                    error // the end
	at                     time.Duration
}

// socket is the bot's end of a link.
type socket struct {
	b      *bubble
	conn   *websocket.Conn
	frames chan frame
	pongs  chan string
}

// connect opens a link and reads it until it ends. Change comes before the first byte is read.
func (b *bubble) connect(query string, change ...func(*websocket.Conn)) *socket {
	b.t.Helper()
	opened := b.call("apps.connections.open", appToken, `{}`)
	require.Equal(b.t, true, opened["ok"], "%v", opened)
	conn, _, err := b.dialLink(opened["url"].(string) + query)
	require.NoError(b.t, err)
	s := &socket{b: b, conn: conn, frames: make(chan frame, 100), pongs: make(chan string, 9)}
	conn.SetPongHandler(func(text string) error { s.pongs <- text; return nil })
	for _, f := range change {
		f(conn)
	}
	go s.read()
	return s
}

func (b *bubble) dialLink(url string) (*websocket.Conn, *http.Response, error) {
	dialer := websocket.Dialer{NetDialContext: b.dial}
	return dialer.DialContext(b.t.Context(), url, http.Header{"Origin": {"https://api.slack.com"}})
}

func (s *socket) read() {
	defer s.conn.Close()
	for {
		_, raw, err := s.conn.ReadMessage()
		got := frame{raw: string(raw), err: err, at: s.b.passed()}
		if err == nil {
			_ = json.Unmarshal(raw, &got)
		}
		s.frames <- got
		if err != nil {
			return
		}
	}
}

// next is the next frame, which must come.
func (s *socket) next() frame {
	s.b.t.Helper()
	got := <-s.frames
	require.NoError(s.b.t, got.err)
	return got
}

// greeted is a link whose hello was read.
func (b *bubble) greeted() *socket {
	b.t.Helper()
	s := b.connect("")
	require.Equal(b.t, "hello", s.next().Type)
	return s
}

// ends requires that nothing more comes; without a close frame when it was cut.
func (s *socket) ends(cut bool) {
	s.b.t.Helper()
	got := <-s.frames
	require.Error(s.b.t, got.err, got.raw)
	if cut {
		require.True(s.b.t, errors.Is(got.err, io.ErrUnexpectedEOF) || websocket.IsCloseError(got.err, websocket.CloseAbnormalClosure), "%v", got.err)
		return
	}
	require.True(s.b.t, websocket.IsCloseError(got.err, websocket.CloseNormalClosure), "%v", got.err)
}

func (s *socket) send(text string) {
	s.b.t.Helper()
	require.NoError(s.b.t, s.conn.WriteMessage(websocket.TextMessage, []byte(text)))
}

func (s *socket) ack(f frame) {
	s.b.t.Helper()
	s.send(`{"envelope_id":"` + f.EnvelopeID + `"}`)
}

// allRead waits until the other side has read all that was sent.
func (s *socket) allRead() {
	s.b.t.Helper()
	require.NoError(s.b.t, s.conn.WriteControl(websocket.PingMessage, []byte("heard?"), time.Now().Add(time.Second)))
	require.Equal(s.b.t, "heard?", <-s.pongs)
}

// command types a command in the background.
func (b *bubble) command(text string) <-chan workspace.Delivery {
	b.t.Helper()
	came := make(chan workspace.Delivery, 1)
	go func() {
		d, err := b.Command(b.t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: text})
		if err != nil {
			d.Err = err.Error()
		}
		came <- d
	}()
	return came
}

// say posts a message as a person; without channel in the direct message with the bot.
func (b *bubble) say(user, channel, text string) workspace.Message {
	b.t.Helper()
	m, err := b.Say(workspace.Saying{User: user, Channel: channel, Text: text})
	require.NoError(b.t, err)
	return m
}

func mustInt(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}
