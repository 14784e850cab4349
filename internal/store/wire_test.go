package store_test

import (
	"bytes"
	"context"
	"net"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/store"
)

// wire is a network between a store and Redis that can go wrong.
type wire struct {
	listener net.Listener // nil: connections come by dial
	to       func() (net.Conn, error)
	wg       sync.WaitGroup

	ended chan struct{}

	mu       sync.Mutex
	refused  bool
	going    chan struct{} // open: nothing goes on until it is closed
	conns    []net.Conn
	requests filter
	replies  filter
}

// filter says what of a chunk goes on, and whether the connection does; nil: all.
type filter func(chunk []byte) (pass []byte, goOn bool)

func pass(chunk []byte) ([]byte, bool) { return chunk, true }

func hang([]byte) ([]byte, bool) { return nil, true }
func cut([]byte) ([]byte, bool)  { return nil, false }

// cutAt lets everything through up to a word, and then cuts the connection; done tells that it has.
func cutAt(word string) (f filter, done <-chan struct{}) {
	seen := make(chan struct{})
	return func(chunk []byte) ([]byte, bool) {
		before, _, found := bytes.Cut(chunk, []byte(word))
		if found {
			close(seen)
		}
		return before, !found
	}, seen
}

func newWire(t tester, to string) *wire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := laid(func() (net.Conn, error) { return net.Dial("tcp", to) })
	w.listener = l
	w.wg.Go(w.accept)
	t.Cleanup(w.takeAway)
	return w
}

// laid is a wire to what a function connects to.
func laid(to func() (net.Conn, error)) *wire {
	w := &wire{to: to, going: make(chan struct{}), ended: make(chan struct{})}
	close(w.going)
	return w
}

func (w *wire) takeAway() {
	close(w.ended)
	w.refuse()
	w.wg.Wait()
}

func (w *wire) open(t tester) *store.Store {
	return openURL(t, "redis://"+w.listener.Addr().String()+"/0")
}

// cutRemembering cuts the wire at that step of remembering a poll's attacks, the first of which is 1.
func (w *wire) cutRemembering(at int) {
	steps := 0
	w.goWrong(func(chunk []byte) ([]byte, bool) {
		if bytes.Contains(chunk, []byte("evalsha")) && bytes.Contains(chunk, []byte("{a:acme}:attacks")) {
			steps++
		}
		return chunk, steps < at
	}, nil)
}

// goWrong sets what happens from now on to requests and to replies.
func (w *wire) goWrong(requests, replies filter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.replies = requests, replies
}

// stall keeps everything back, as if the process were stopped, and passes it on when it goes on.
func (w *wire) stall() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	going := make(chan struct{})
	w.going = going
	return sync.OnceFunc(func() { close(going) })
}

// refuse takes no new connections and cuts those there are.
func (w *wire) refuse() {
	if w.listener != nil {
		_ = w.listener.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = true
	for _, c := range w.conns {
		_ = c.Close()
	}
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.connect(near)
	}
}

// dial connects without a network.
func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	mine, near := net.Pipe()
	w.connect(near)
	return mine, nil
}

func (w *wire) connect(near net.Conn) {
	far, err := w.to()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || w.refused {
		_ = near.Close()
		return
	}
	w.conns = append(w.conns, near, far)
	w.wg.Go(func() { w.pump(far, near, &w.requests) })
	w.wg.Go(func() { w.pump(near, far, &w.replies) })
}

func (w *wire) pump(to, from net.Conn, through *filter) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		pass, goOn := buf[:n], true
		w.mu.Lock()
		going := w.going
		w.mu.Unlock()
		select {
		case <-going:
		case <-w.ended:
			return
		}
		w.mu.Lock()
		if f := *through; f != nil {
			pass, goOn = f(pass)
		}
		w.mu.Unlock()
		if _, err := to.Write(pass); err != nil || !goOn {
			return
		}
	}
}
