package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	demo := start(t, nil, "demo", "--listen", ":0")
	address := demo.line(t)
	page, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, "http", page.Scheme)
	require.Equal(t, "127.0.0.1", page.Hostname())
	require.NotEqual(t, "0", page.Port())
	for _, elsewhere := range []string{"127.0.0.2", "::1"} { // where only those are heard who listen everywhere
		_, err := net.Dial("tcp", net.JoinHostPort(elsewhere, page.Port()))
		require.Error(t, err, "nothing listens outside loopback unless configured to")
	}

	status, body := fetch(t, address)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "<title>wafbot")

	left := demo.stop()
	require.Equal(t, exitDone, left.code, left.err)
	require.Empty(t, left.out, "the address is all of standard output")
	require.NotContains(t, left.err, "level=ERROR")
	_, err = net.Dial("tcp", page.Host)
	require.Error(t, err, "no replica listens any more")
}

func TestDemoOnABusyPort(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	for _, program := range []string{"demo", "sandbox"} {
		got := typed(t, nil, program, "--listen", busy.Addr().String())
		require.Equal(t, exitFailed, got.code)
		require.Empty(t, got.out)
		require.Contains(t, got.err, "address already in use; --listen 127.0.0.1:0 picks a free port")
	}
}

func TestDemoWithReplicas(t *testing.T) {
	t.Parallel()
	require.Equal(t, exitUsage, typed(t, nil, "demo", "--replicas", "0").code)
	demo := start(t, nil, "demo", "--listen", ":0", "--replicas", "3")
	address := demo.line(t)
	channel := func() string {
		_, body := fetch(t, address+"/sandbox/slack/messages?channel=waf&user=rob")
		return body
	}
	require.Eventually(t, func() bool { return strings.Contains(channel(), "wafbot watches acme") }, patience, 20*time.Millisecond)
	for range 6 { // whichever replica takes them
		res, err := http.Post(address+"/sandbox/slack/command", "application/json", strings.NewReader(`{"user":"rob","channel":"#waf","text":"deny 198.51.100.200"}`))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body) // a busy machine acknowledges after Slack's three seconds
	}
	require.Eventually(t, func() bool { return strings.Count(channel(), "Done, nothing to change") >= 5 }, patience, 20*time.Millisecond)
	require.Equal(t, 1, strings.Count(channel(), `"bot_id":"B0WAFBOT","text":"*wafbot watches acme*`), "posted by one")
	left := demo.stop()
	require.Equal(t, exitDone, left.code, left.err)
	for line := range strings.Lines(left.err) {
		late := strings.Contains(line, "i/o timeout") || strings.Contains(line, "deadline exceeded") // a busy machine keeps Redis waiting
		require.False(t, strings.Contains(line, "level=ERROR") && !late, line)
	}
}
