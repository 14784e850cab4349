package proxytest_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/proxytest"
)

// echo answers with what it is sent.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// patience is how long a test waits for what must come: a busy machine takes long.
const patience = time.Minute

// send sends a word over a new connection and returns what came back in time.
func send(t *testing.T, p *proxytest.Proxy, word string, within time.Duration) (string, error) {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return "", err
	}
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(within)))
	if _, err := io.WriteString(c, word); err != nil {
		return "", err
	}
	got := make([]byte, len(word))
	n, err := io.ReadFull(c, got)
	return string(got[:n]), err
}

func TestProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disturb func(p *proxytest.Proxy)
		got     string
		fails   bool
	}{
		"nothing": {func(*proxytest.Proxy) {}, "word", false},
		"refuse":  {(*proxytest.Proxy).Refuse, "", true},
		"cut":     {func(p *proxytest.Proxy) { p.SetFilters(proxytest.Cut, nil) }, "", true},
		"drop":    {func(p *proxytest.Proxy) { p.SetFilters(nil, proxytest.Drop) }, "", true},
		"delay":   {func(p *proxytest.Proxy) { p.SetDelay(func() time.Duration { return 10 * time.Millisecond }) }, "word", false},
		"stall":   {func(p *proxytest.Proxy) { time.AfterFunc(100*time.Millisecond, p.Stall()) }, "word", false},
		"limit": {func(p *proxytest.Proxy) {
			p.SetReplyFilters(func() proxytest.Filter { return func(chunk []byte) ([]byte, bool) { return chunk[:2], false } })
		}, "wo", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxytest.Start(t, echo(t))
			c.disturb(p)
			within := patience
			if name == "drop" {
				within = time.Second // nothing comes
			}
			got, err := send(t, p, "word", within)
			require.Equal(t, c.fails, err != nil, "%v", err)
			require.Equal(t, c.got, got)
			require.NoError(t, p.Restore())
			got, err = send(t, p, "again", patience)
			require.NoError(t, err)
			require.Equal(t, "again", got)
		})
	}
}

func TestResetBreaksConnections(t *testing.T) {
	t.Parallel()
	p := proxytest.Start(t, echo(t))
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "a")
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
	p.Reset()
	_, err = c.Read(make([]byte, 1))
	require.ErrorContains(t, err, "connection reset")
	_, err = send(t, p, "word", patience)
	require.NoError(t, err)
}
