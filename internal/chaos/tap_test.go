package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"testing"
)

// tap is a proxy between one replica and Redis, Slack and the service. It reports each step to a trap.
type tap struct {
	trap  *trap
	redis string // as the replica sees it
	world string
}

func newTap(t testing.TB, redis, world string, trap *trap) *tap {
	t.Helper()
	tap := &tap{trap: trap}
	tap.redis = betweenRedis(t, redis, tap.command)
	upstream, err := url.Parse(world)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport: tap,
		ErrorLog:  log.New(io.Discard, "", 0), // a killed replica closes its connections
	})
	t.Cleanup(server.CloseClientConnections)
	tap.world = server.URL
	return tap
}

// betweenRedis opens an address whose connections go to Redis, and returns it. Commands are answered one after another,
// in their order: answer passes each on, or not. An error of its ends the connection, after what it returned was
// written.
func betweenRedis(t testing.TB, redis string, answer func(command value, on func() (value, error)) (raw []byte, err error)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	pass := func(near net.Conn) {
		defer near.Close()
		far, err := net.Dial("tcp", redis)
		if err != nil {
			return
		}
		defer far.Close()
		commands, answers := bufio.NewReader(near), bufio.NewReader(far)
		for {
			command, err := readValue(commands)
			if err != nil || len(command.words) == 0 { // a test of another package took this port for that of its own dead server
				return
			}
			raw, err := answer(command, func() (value, error) {
				if _, err := far.Write(command.raw); err != nil {
					return value{}, err
				}
				return readValue(answers)
			})
			if _, failed := near.Write(raw); failed != nil || err != nil {
				return
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go pass(conn)
		}
	}()
	return l.Addr().String()
}

// command passes one command on and returns the answer.
func (tap *tap) command(command value, on func() (value, error)) (raw []byte, err error) {
	kind := command.kind()
	n, pass := tap.trap.before(kind)
	if !pass {
		return nil, errKilled
	}
	answer, err := on()
	switch {
	case err != nil:
		return nil, err
	case answer.unknownScript():
		tap.trap.uncount(kind)
	case !tap.trap.after(kind, n):
		return nil, errKilled
	}
	return answer.raw, nil
}

var errKilled = errors.New("the replica is dead")

// number is the part of an address that is another one in each play.
var number = regexp.MustCompile(`/\d+`)

// RoundTrip implements http.RoundTripper. A request that was sent arrives even if its sender is killed.
func (tap *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	kind := req.Method + " " + number.ReplaceAllString(req.URL.Path, "/*")
	n, pass := tap.trap.before(kind)
	if !pass {
		return nil, errKilled
	}
	sent := req.Clone(context.WithoutCancel(req.Context()))
	sent.Body = io.NopCloser(bytes.NewReader(body))
	res, err := http.DefaultTransport.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if !tap.trap.after(kind, n) {
		res.Body.Close()
		return nil, errKilled
	}
	return res, nil
}
