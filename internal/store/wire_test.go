package store_test

import (
	"bytes"
	"net"

	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/store"
)

// wire is a network between a store and Redis that can go wrong.
type wire struct{ *proxytest.Proxy }

func newWire(t tester, to string) *wire { return &wire{proxytest.Start(t, to)} }

// dialledWire is a wire without a network, to what a function connects to. Close ends it.
func dialledWire(to func() (net.Conn, error)) *wire { return &wire{proxytest.New(to)} }

func (w *wire) open(t tester) *store.Store { return w.openWith(t, store.Config{}) }

// openPatiently is for a wire that is cut: what hangs is noticed late.
func (w *wire) openPatiently(t tester, cfg store.Config) *store.Store {
	cfg.Timeout = patience
	return w.openWith(t, cfg)
}

func (w *wire) openWith(t tester, cfg store.Config) *store.Store {
	if w.Addr() == "" {
		return opened(t, store.OpenDialling(cfg, w.Dial))
	}
	cfg.Address.URL = "redis://" + w.Addr() + "/0"
	return openWith(t, cfg)
}

// cutSaving cuts the wire before that step of saving a poll's attacks, the first of which is 1: it is surely not done.
func (w *wire) cutSaving(at int) {
	steps := 0
	w.SetFilters(func(chunk []byte) ([]byte, bool) {
		if bytes.Contains(chunk, []byte("evalsha")) && bytes.Contains(chunk, []byte("{a:acme}:attacks")) {
			steps++
		}
		if steps >= at {
			return nil, false
		}
		return chunk, true
	}, nil)
}

// cutAt lets everything through up to a word, and then cuts the connection; done reports that it has.
func cutAt(word string) (f proxytest.Filter, done <-chan struct{}) {
	seen := make(chan struct{})
	return func(chunk []byte) ([]byte, bool) {
		before, _, found := bytes.Cut(chunk, []byte(word))
		if found {
			close(seen)
		}
		return before, !found
	}, seen
}
