package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// memory is a Redis that can go away and come back with what it held.
type memory struct {
	url        string
	away, back func()
}

func miniRedis(t testing.TB) memory {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // keys must run out in real time
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	back := func() {
		m.Ctx, m.CtxCancel = context.WithCancel(context.Background()) // a closed one would answer no blocking command
		require.NoError(t, m.Restart())
	}
	return memory{url: "redis://" + m.Addr() + "/0", away: m.Close, back: back}
}

// realRedis is a server of its own on a free port, which writes everything down at once.
func realRedis(t testing.TB) memory {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server: run make tools, or go test -short")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	host, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	args := []string{"--port", port, "--bind", host, "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir()}
	stop := func() {}
	start := func() { stop = startRedis(t, binary, args) }
	start()
	t.Cleanup(func() { stop() })
	return memory{url: "redis://" + free.Addr().String() + "/0", away: func() { stop() }, back: start}
}

// startRedis starts a server, waits until it takes connections, and returns what kills it.
func startRedis(t testing.TB, binary string, args []string) (kill func()) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready, lines := false, bufio.NewScanner(out)
	for !ready && lines.Scan() {
		ready = strings.Contains(lines.Text(), "Ready to accept connections")
	}
	require.True(t, ready, "redis-server ended")
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// empty has the Redis forget everything.
func (m memory) empty(t testing.TB) {
	t.Helper()
	address, err := url.Parse(m.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address.Host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("*1\r\n$8\r\nFLUSHALL\r\n"))
	require.NoError(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", answer)
}

// losing puts a wire before the Redis that breaks instead of bringing the answer to a command, so many times. The command is carried out.
func (m memory) losing(t testing.TB, command string, times int32) memory {
	t.Helper()
	upstream, err := url.Parse(m.url)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wires sync.WaitGroup
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		wires.Wait()
	})
	var left atomic.Int32
	left.Store(times)
	wires.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream.Host)
			if err != nil {
				client.Close()
				continue
			}
			w := &wire{client: client, server: server}
			wires.Go(func() { w.ask(command, &left) })
			wires.Go(w.answer)
		}
	})
	return memory{url: "redis://" + l.Addr().String() + "/0", away: m.away, back: m.back}
}

// wire is one connection to a Redis and its other end.
type wire struct {
	client, server net.Conn
	cut            atomic.Bool // at the next answer
}

func (w *wire) ask(command string, left *atomic.Int32) {
	defer w.server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := w.client.Read(buf)
		if bytes.Contains(buf[:n], []byte(command)) && left.Add(-1) >= 0 {
			w.cut.Store(true)
		}
		if _, writeErr := w.server.Write(buf[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (w *wire) answer() {
	defer w.client.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := w.server.Read(buf)
		if err != nil || w.cut.Load() {
			return
		}
		if _, err := w.client.Write(buf[:n]); err != nil {
			return
		}
	}
}
