package slackconn

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"
	"golang.org/x/net/proxy"

	"github.com/wafbot/wafbot/apiclient"
)

// maxHandshake is how many bytes are read before a link is open: what a proxy, TLS and Slack say first.
// gorilla/websocket reads headers without a limit.
const maxHandshake = 128 << 10

var errLongHandshake = errors.New("the other side says too much before the link is open")

// boundedConn is a connection that ends after so many bytes.
type boundedConn struct {
	net.Conn

	left int64
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongHandshake
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// dialWebSocket opens a link's connection.
func dialWebSocket(ctx context.Context, address string) (*websocket.Conn, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("connect link: %w", apiclient.WithoutURL(err))
	}
	var wire *boundedConn
	dialer := websocket.Dialer{HandshakeTimeout: helloWithin,
		NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx, to)
			wire = &boundedConn{conn, maxHandshake}
			return wire, err
		}}
	conn, res, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("connect link to %s: %w", to.Host, apiclient.WithoutURL(err))
	}
	_ = res.Body.Close()      // empty: the link has the connection
	wire.left = math.MaxInt64 // frames have a limit each
	return conn, nil
}

// Reach connects to the host of an address as a link would, through the proxy of the environment and with TLS, and
// sends nothing.
func Reach(ctx context.Context, address string) error {
	to, err := url.Parse(address)
	if err != nil {
		return apiclient.WithoutURL(err)
	}
	conn, err := dial(ctx, to)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if secure(to) {
		return tls.Client(conn, &tls.Config{ServerName: to.Hostname()}).HandshakeContext(ctx)
	}
	return nil
}

// secure reports whether what an address leads to speaks TLS.
func secure(u *url.URL) bool { return u.Scheme == "https" || u.Scheme == "wss" }

// hostPort is where an address leads to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" && secure(u) {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}

// dial connects to the host of an address through the proxy of the environment, as net/http would: gorilla/websocket
// knows neither https nor socks5h proxies, and panics at an odd answer of a proxy.
func dial(ctx context.Context, to *url.URL) (conn net.Conn, err error) {
	asked, direct := &http.Request{URL: &url.URL{Scheme: "http", Host: to.Host}}, &net.Dialer{}
	if secure(to) {
		asked.URL.Scheme = "https"
	}
	switch through, err := http.ProxyFromEnvironment(asked); {
	case err != nil:
		return nil, errors.New("the proxy of the environment (HTTPS_PROXY, HTTP_PROXY) is no address") // which may hold a password
	case through == nil:
		return direct.DialContext(ctx, "tcp", hostPort(to))
	case strings.HasPrefix(through.Scheme, "socks5"):
		socks, err := proxy.FromURL(through, direct)
		if err != nil {
			return nil, err
		}
		return socks.(proxy.ContextDialer).DialContext(ctx, "tcp", hostPort(to)) // its errors name both
	default:
		if conn, err = connect(ctx, through, hostPort(to)); err != nil {
			err = fmt.Errorf("ask the proxy %s for %s: %w", through.Host, hostPort(to), err)
		}
		return conn, err
	}
}

// connect has an HTTP proxy connect to a host.
func connect(ctx context.Context, through *url.URL, host string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort(through))
	if err != nil {
		return nil, err
	}
	cut := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if secure(through) {
		conn = tls.Client(conn, &tls.Config{ServerName: through.Hostname()})
	}
	if err = askProxy(conn, through.User, host); !cut() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// askProxy asks a proxy for a host (CONNECT).
func askProxy(conn net.Conn, user *url.Userinfo, host string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: host}, Host: host, Header: http.Header{}}
	if password, _ := user.Password(); user != nil {
		basic := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+basic)
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxHandshake))
	res, err := http.ReadResponse(answer, req) //nolint:bodyclose // the connection is its body
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("it refuses: %s", res.Status)
	case answer.Buffered() > 0:
		return errors.New("it says more than that it is connected")
	}
	return nil
}
