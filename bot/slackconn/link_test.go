package slackconn

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
)

// within waits for something for less than the times of a link.
func within[T any](t *testing.T, what <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-what:
	case <-time.After(helloWithin - time.Second):
		t.Fatal("it took too long")
	}
	return got
}

// A stop doesn't wait for a hello that never comes.
func TestStopDoesNotWaitForHello(t *testing.T) {
	t.Parallel()
	connected := make(chan bool, 10)
	s := slacktest.New(t, "", nil)
	s.Greeting = func(conn *websocket.Conn) {
		connected <- true
		_, _, _ = conn.ReadMessage()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- linked(s).Receive(ctx) }()
	require.True(t, within(t, connected))
	cancel()
	require.NoError(t, within(t, ended))
}

// A link on which nothing can be acknowledged is closed, though envelopes still come over it: they would be carried
// out, and Slack would show that they failed.
func TestALinkThatTakesNoAcknowledgementsEnds(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", func(conn *websocket.Conn, _ bool) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"envelope_id":"e","type":"from_the_future"}`))
		<-t.Context().Done() // it doesn't notice, and would go on
	})
	b := linked(s)
	l, err := b.openLink(t.Context(), MaxLinks)
	require.NoError(t, err)
	require.NoError(t, l.conn.NetConn().(*boundedConn).Conn.(*net.TCPConn).CloseWrite())
	ended := make(chan bool)
	go func() {
		b.serve(t.Context(), l)
		close(ended)
	}()
	within(t, ended)
	open := b.State().Open
	require.Zero(t, open)
}

// Before a link is open its other side says little, or it isn't opened. What follows has no end.
func TestAHandshakeIsReadUpToABound(t *testing.T) {
	t.Parallel()
	end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
		for range 8_000 {
			if _, err := out.WriteString("X: " + strings.Repeat("x", 1000) + "\r\n"); err != nil {
				return
			}
		}
	}))
	t.Cleanup(end.Close)
	s := slacktest.New(t, `{"ok":true,"url":"ws://`+end.Listener.Addr().String()+`/link"}`, nil)
	_, err := linked(s).openLink(t.Context(), MaxLinks)
	require.ErrorIs(t, err, errLongHandshake)

	frames := make(chan string)
	s = slacktest.New(t, "", func(conn *websocket.Conn, _ bool) {
		for _, words := range []string{strings.Repeat("x", maxHandshake), "the end"} {
			_ = conn.WriteMessage(websocket.TextMessage, []byte(words))
		}
		_, _, _ = conn.ReadMessage()
	})
	l, err := linked(s).openLink(t.Context(), MaxLinks)
	require.NoError(t, err)
	go func() {
		for range 2 {
			_, frame, _ := l.conn.ReadMessage()
			frames <- string(frame)
		}
		_ = l.conn.Close()
	}()
	require.Len(t, within(t, frames), maxHandshake)
	require.Equal(t, "the end", within(t, frames))
}

// A replica for which no link is left says so, and asks Slack for none.
func TestAReplicaWaitsForALink(t *testing.T) {
	s := slacktest.New(t, "", func(conn *websocket.Conn, _ bool) { _, _, _ = conn.ReadMessage() })
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := linked(s)
		for i := range MaxLinks {
			held, err := b.cfg.Links.TakeLink(ctx, strconv.Itoa(i), MaxLinks)
			require.True(t, held)
			require.NoError(t, err)
		}
		ended := make(chan error, 1)
		go func() { ended <- b.Receive(ctx) }()
		time.Sleep(time.Minute)
		trouble := b.State().Trouble
		require.Contains(t, trouble, "all ten links of the app are taken")
		require.Zero(t, s.Opens.Load())
		cancel()
		require.NoError(t, <-ended)
	})
}
