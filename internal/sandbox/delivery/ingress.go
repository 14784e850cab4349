package delivery

import (
	"fmt"
	"slices"
)

// Ingress is how deliveries reach the bot. A real app has either HTTP or Socket Mode.
type Ingress string

// The kinds of ingress.
const (
	Auto   Ingress = ""       // HTTP when an address is set, else Socket Mode
	HTTP   Ingress = "http"   // signed requests
	Socket Ingress = "socket" // envelopes over links
	Either Ingress = "either" // HTTP and Socket Mode in turn, where both are available
	Both   Ingress = "both"   // each delivery over both at once, which real Slack never does
)

// SetIngress changes the ingress from now on.
func (s *Sender) SetIngress(way Ingress) error {
	if !slices.Contains([]Ingress{Auto, HTTP, Socket, Either, Both}, way) {
		return fmt.Errorf("set ingress %q: use http, socket, either, both or nothing", way)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Ingress = way
	s.cfg.Changed()
	return nil
}

// Ingress is the ingress that was set last.
func (s *Sender) Ingress() Ingress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.Ingress
}

// DeliverTo sends signed requests to another base address from now on. "" is none.
func (s *Sender) DeliverTo(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Deliver = url
	s.cfg.Changed()
}

// Ways lists how the next delivery goes: HTTP, Socket or both.
func (s *Sender) Ways() []Ingress {
	s.mu.Lock()
	defer s.mu.Unlock()
	way := s.cfg.Ingress
	if way == Either && s.cfg.Deliver != "" && s.anyOpen() {
		s.overSocket = !s.overSocket
		if s.overSocket {
			return []Ingress{Socket}
		}
	}
	switch {
	case way == Both:
		return []Ingress{HTTP, Socket}
	case way == HTTP, way != Socket && s.cfg.Deliver != "":
		return []Ingress{HTTP}
	}
	return []Ingress{Socket}
}
