// Package proxytest is a TCP proxy for tests. It can filter, delay, hold back and break what goes through it.
package proxytest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// TB is what the proxy needs of a test. testing.TB and rapid.T have it.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(f func())
}

// Filter returns what it lets through of a chunk, and whether the connection stays open. Filters of one proxy never run
// at the same time. A filter must not call SetFilters, SetReplyFilters or Restore.
type Filter func(chunk []byte) (pass []byte, open bool)

// Pass passes everything on.
func Pass(chunk []byte) ([]byte, bool) { return chunk, true }

// Drop passes nothing on and keeps the connection open.
func Drop([]byte) ([]byte, bool) { return nil, true }

// Cut passes nothing on and closes the connection.
func Cut([]byte) ([]byte, bool) { return nil, false }

// Proxy passes connections on.
type Proxy struct {
	dial  func() (net.Conn, error) // to the far end
	addr  string
	ended chan struct{}
	wg    sync.WaitGroup

	filtering sync.Mutex // held while a filter runs; taken before mu

	mu                sync.Mutex
	listener          net.Listener // nil: connections come by Dial alone
	refused           bool
	resumed           chan struct{} // closed unless stalled
	conns             map[net.Conn]struct{}
	requests, replies func() Filter // called once for each connection and generation
	generation        int           // of the filters
	delay             func() time.Duration
}

// Start starts a proxy to an address on a free port of loopback. It ends with the test.
func Start(t TB, to string) *Proxy {
	t.Helper()
	p := New(func() (net.Conn, error) { return net.Dial("tcp", to) })
	if err := p.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.addr = p.listener.Addr().String()
	t.Cleanup(p.Close)
	return p
}

// New returns a proxy without a network: its near ends come from Dial, its far ends from the function.
func New(dial func() (net.Conn, error)) *Proxy {
	p := &Proxy{dial: dial, ended: make(chan struct{}), resumed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(p.resumed)
	p.SetFilters(Pass, Pass)
	return p
}

// Addr is the HOST:PORT of the near end. It stays the same over Refuse and Restore.
func (p *Proxy) Addr() string { return p.addr }

// Close refuses connections and waits until none is left. Start has the test call it; a proxy of New needs it.
func (p *Proxy) Close() {
	close(p.ended)
	p.Refuse()
	p.wg.Wait()
}

// SetFilters sets the filters of requests and replies, also for the connections there are. nil is Pass.
func (p *Proxy) SetFilters(requests, replies Filter) {
	p.setFilters(always(requests), always(replies))
}

// SetReplyFilters gives each connection a filter of its own for its replies.
func (p *Proxy) SetReplyFilters(replies func() Filter) { p.setFilters(always(Pass), replies) }

func always(f Filter) func() Filter {
	if f == nil {
		f = Pass
	}
	return func() Filter { return f }
}

func (p *Proxy) setFilters(requests, replies func() Filter) {
	p.filtering.Lock()
	defer p.filtering.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.replies = requests, replies
	p.generation++
}

// SetDelay delays each chunk of the replies by what the function returns. nil is none.
func (p *Proxy) SetDelay(delay func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Stall holds everything back, as if the process were stopped, until resume is called. Calls after the first do
// nothing.
func (p *Proxy) Stall() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	resumed := make(chan struct{})
	p.resumed = resumed
	return sync.OnceFunc(func() { close(resumed) })
}

// Reset breaks the connections there are with a RST. New ones are taken.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	p.closeAll()
}

// Refuse closes the connections there are and takes no new ones.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.refused = true
	p.closeAll()
}

// Restore undoes Refuse and removes filters and delay. It closes the connections there are, because a filter may have
// taken bytes out of them.
func (p *Proxy) Restore() error {
	p.filtering.Lock()
	defer p.filtering.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.replies, p.delay = always(Pass), always(Pass), nil
	p.generation++
	p.closeAll()
	if !p.refused {
		return nil
	}
	p.refused = false
	return p.listen(p.addr)
}

func (p *Proxy) closeAll() {
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("start proxy: %w", err)
	}
	p.listener = l
	p.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			p.connect(near)
		}
	})
	return nil
}

// Dial connects without a network. Clients take it as their dialer.
func (p *Proxy) Dial(context.Context, string, string) (net.Conn, error) {
	mine, near := net.Pipe()
	p.connect(near)
	return mine, nil
}

func (p *Proxy) connect(near net.Conn) {
	far, err := p.dial()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.refused {
		_ = near.Close()
		if err == nil {
			_ = far.Close()
		}
		return
	}
	p.conns[near], p.conns[far] = struct{}{}, struct{}{}
	p.wg.Go(func() { p.pump(far, near, false) })
	p.wg.Go(func() { p.pump(near, far, true) })
}

// pump passes on what comes from one end of a connection.
func (p *Proxy) pump(to, from net.Conn, replies bool) {
	defer p.drop(to, from)
	buf := make([]byte, 64<<10)
	way := &way{p: p, replies: replies}
	for {
		n, err := from.Read(buf)
		if err != nil || !way.wait() {
			return
		}
		pass, open := way.filter(buf[:n])
		if _, err := to.Write(pass); err != nil || !open {
			return
		}
	}
}

func (p *Proxy) drop(ends ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range ends {
		delete(p.conns, c)
		_ = c.Close()
	}
}

// way is one direction of one connection.
type way struct {
	p          *Proxy
	replies    bool
	own        Filter
	generation int
}

// wait waits while the proxy stalls or delays. It reports false when the proxy ends.
func (w *way) wait() bool {
	w.p.mu.Lock()
	resumed, delay := w.p.resumed, w.p.delay
	w.p.mu.Unlock()
	select {
	case <-resumed:
	case <-w.p.ended:
		return false
	}
	if delay == nil || !w.replies {
		return true
	}
	timer := time.NewTimer(delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.p.ended:
		return false
	}
}

func (w *way) filter(chunk []byte) (pass []byte, open bool) {
	w.p.filtering.Lock()
	defer w.p.filtering.Unlock()
	w.p.mu.Lock()
	if w.generation != w.p.generation {
		create := w.p.requests
		if w.replies {
			create = w.p.replies
		}
		w.own, w.generation = create(), w.p.generation
	}
	w.p.mu.Unlock()
	return w.own(chunk)
}
