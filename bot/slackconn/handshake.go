package slackconn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"

	"github.com/gorilla/websocket"
)

// maxHandshake is how many bytes are read before a link is open: what a proxy, TLS and Slack say first. gorilla/websocket reads headers without a limit.
const maxHandshake = 128 << 10

var errLongHandshake = errors.New("the other side says too much before the link is open")

// boundedConn is a connection of which so many bytes are read.
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
	var wire *boundedConn
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloWithin, NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		wire = &boundedConn{conn, maxHandshake}
		return wire, err
	}}
	conn, res, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("connect link: %w", WithoutURL(err))
	}
	_ = res.Body.Close()      // empty: the link has the connection
	wire.left = math.MaxInt64 // frames have a limit each
	return conn, nil
}
