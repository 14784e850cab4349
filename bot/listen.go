package bot

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Times of a request over HTTP.
const (
	requestWithin  = 3 * time.Second  // it is read to its end: Slack waits no longer for the acknowledgement
	responseWithin = 10 * time.Second // it is answered
	idleFor        = 2 * time.Minute  // a connection waits for its next request
	stopWithin     = 3 * time.Second  // requests under way, when serving ends
)

// What strangers can have wafbot hold: each connection costs about 40 kB with the largest headers, beside the bodies (see maxBodies).
const (
	maxHeaders     = 16 << 10 // bytes; Slack's have 1 kB
	maxConnections = 1024
)

// Serve receives over HTTP until the context ends.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	all := &connections{log: d.log, order: list.New(), at: map[net.Conn]*list.Element{}}
	server := &http.Server{
		Handler: d, ReadTimeout: requestWithin, WriteTimeout: responseWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHeaders, ConnState: all.changed,
	}
	server.SetKeepAlivesEnabled(false) // a request on an idle connection that a stop closes would be lost
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		// A listener that is shared is closed by whoever stops first.
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		return server.Shutdown(stop)
	})
	return g.Wait()
}

// connections are those that are open. Where there are too many, a new one takes the place of the one whose last request began longest ago: Slack's requests
// take milliseconds, so that one stalls or is idle. If new ones waited instead, whoever stalls would keep out Slack and the probes.
type connections struct {
	log *sampledLog

	mu    sync.Mutex
	order *list.List // of net.Conn, by their last request
	at    map[net.Conn]*list.Element
}

// changed is called for each change of a connection's state.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if oldest := c.order.Front(); len(c.at) >= maxConnections {
			c.drop(oldest)
		}
		c.at[conn] = c.order.PushBack(conn)
	case http.StateActive:
		if e := c.at[conn]; e != nil {
			c.order.MoveToBack(e)
		}
	case http.StateClosed, http.StateHijacked:
		if e := c.at[conn]; e != nil {
			c.order.Remove(e)
			delete(c.at, conn)
		}
	}
}

// drop closes a connection. The caller holds mu.
func (c *connections) drop(e *list.Element) {
	conn := c.order.Remove(e).(net.Conn)
	delete(c.at, conn)
	_ = conn.Close()
	c.log.warn(context.Background(), "too many connections: closed the one whose last request began longest ago", "most", maxConnections, "from", conn.RemoteAddr().String())
}
