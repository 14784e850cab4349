package workspace

import (
	"fmt"
	"slices"
)

// Ingress is the way that deliveries go to the bot. A real app has either HTTP or Socket Mode.
type Ingress string

// The ways there are.
const (
	IngressAuto   Ingress = ""       // HTTP when an address is set, else Socket Mode
	IngressHTTP   Ingress = "http"   // signed requests
	IngressSocket Ingress = "socket" // envelopes over links
	IngressEither Ingress = "either" // one way or the other in turn, of those that are there
	IngressBoth   Ingress = "both"   // worse than real: each delivery over both ways at once
)

// SetIngress changes the way of deliveries from now on.
func (w *Workspace) SetIngress(way Ingress) error {
	if !slices.Contains([]Ingress{IngressAuto, IngressHTTP, IngressSocket, IngressEither, IngressBoth}, way) {
		return fmt.Errorf("set ingress %q: use http, socket, either, both or nothing", way)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.Ingress = way
	w.notify()
	return nil
}

// Ingress is the way that was set last.
func (w *Workspace) Ingress() Ingress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cfg.Ingress
}

// DeliverTo sends signed requests to another address from now on; empty: to none.
func (w *Workspace) DeliverTo(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.Deliver = url
	w.notify()
}

// ways lists how the next delivery goes.
func (w *Workspace) ways() []Ingress {
	way := w.cfg.Ingress
	if way == IngressEither && w.cfg.Deliver != "" && len(w.links) > 0 {
		w.overSocket = !w.overSocket
		if w.overSocket {
			return []Ingress{IngressSocket}
		}
	}
	switch {
	case way == IngressBoth:
		return []Ingress{IngressHTTP, IngressSocket}
	case way == IngressHTTP, way != IngressSocket && w.cfg.Deliver != "":
		return []Ingress{IngressHTTP}
	}
	return []Ingress{IngressSocket}
}
