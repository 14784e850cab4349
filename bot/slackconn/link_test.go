package slackconn

import (
	"context"
	"net"
	"strconv"
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

// A link on which nothing can be acknowledged is closed, though envelopes still come over it: they would be carried out, and Slack would show
// that they failed.
func TestALinkThatTakesNoAcknowledgementsEnds(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", func(conn *websocket.Conn, _ bool) {
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"envelope_id":"e","type":"from_the_future"}`))
		<-t.Context().Done() // it doesn't notice, and would go on
	})
	b := linked(s)
	l, err := b.openLink(t.Context(), MaxLinks)
	require.NoError(t, err)
	require.NoError(t, l.conn.NetConn().(*net.TCPConn).CloseWrite())
	ended := make(chan bool)
	go func() {
		b.serve(t.Context(), l)
		close(ended)
	}()
	within(t, ended)
	open, _ := b.State()
	require.Zero(t, open)
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
		_, trouble := b.State()
		require.Contains(t, trouble, "all ten links of the app are taken")
		require.Zero(t, s.Opens.Load())
		cancel()
		require.NoError(t, <-ended)
	})
}
