package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
)

// redisServer is a Redis that can go away and come back with its data.
type redisServer struct {
	url        string
	away, back func()
}

func miniRedis(t testing.TB) redisServer {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true) // keys must run out in real time
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	back := func() {
		m.Ctx, m.CtxCancel = context.WithCancel(context.Background()) // a closed one would answer no blocking command
		require.NoError(t, m.Restart())
	}
	return redisServer{url: "redis://" + m.Addr() + "/0", away: m.Close, back: back}
}

// realRedis is a server of its own on a free port, which writes everything down at once.
func realRedis(t testing.TB) redisServer {
	t.Helper()
	s := redistest.StartDurable(t)
	return redisServer{url: s.URL(), away: s.Kill, back: func() { require.NoError(t, s.Restart()) }}
}

// aRedis is a real one, unless the round is a short one. It also takes less of the processors than one within the race
// detector.
func aRedis(t testing.TB) redisServer {
	t.Helper()
	if testing.Short() {
		return miniRedis(t)
	}
	return realRedis(t)
}

// empty deletes all that the Redis holds.
func (m redisServer) empty(t testing.TB) { m.does(t, "FLUSHALL") }

// does carries out a command behind the bot's back.
func (m redisServer) does(t testing.TB, words ...string) {
	t.Helper()
	address, err := url.Parse(m.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address.Host)
	require.NoError(t, err)
	defer conn.Close()
	command := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		command += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	_, err = conn.Write([]byte(command))
	require.NoError(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", answer)
}

// losing puts a wire before the Redis that breaks instead of bringing the answer to a command, so many times. The
// command is carried out.
func (m redisServer) losing(t testing.TB, command string, times int32) redisServer {
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
	return redisServer{url: "redis://" + l.Addr().String() + "/0", away: m.away, back: m.back}
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
