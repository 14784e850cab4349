// Package slacktest is Slack's end of the wire in tests: the Web API and Socket Mode links, as rough as a test wants
// them.
package slacktest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
)

// End is Slack's end, as rough as a test wants it.
type End struct {
	*httptest.Server
	Opens   atomic.Int64
	Unknown atomic.Bool  // auth.test fails
	Refuses atomic.Value // the error's name, with which apps.connections.open fails; "": it doesn't

	Greeting func(conn *websocket.Conn) // nil: hello

	mu    sync.Mutex
	shown map[string][]string // texts by user
}

// New answers apps.connections.open, with a good link if answer is ""; serve plays the link after its hello, and
// then the connection is closed.
func New(t *testing.T, answer string, serve func(conn *websocket.Conn, first bool)) *End {
	t.Helper()
	s := &End{shown: map[string][]string{}}
	s.Refuses.Store("")
	mux := http.NewServeMux()
	mux.HandleFunc("/api/auth.test", func(w http.ResponseWriter, _ *http.Request) {
		if s.Unknown.Load() {
			_, _ = io.WriteString(w, `{"ok":false,"error":"internal_error"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"team_id":"T0OURS","user_id":"U0BOT","bot_id":"B0BOT"}`)
	})
	mux.HandleFunc("/api/chat.postEphemeral", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shown[r.FormValue("user")] = append(s.shown[r.FormValue("user")], r.FormValue("text"))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, _ *http.Request) {
		n := s.Opens.Add(1)
		switch {
		case s.Refuses.Load() != "":
			_, _ = fmt.Fprintf(w, `{"ok":false,"error":%q}`, s.Refuses.Load())
			return
		case answer != "":
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = fmt.Fprintf(w, `{"ok":true,"url":"ws://%s/link?ticket=a-ticket&n=%d"}`, s.Listener.Addr(), n)
	})
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		if s.Greeting != nil {
			s.Greeting(conn)
			return
		}
		if conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"hello","num_connections":1}`)) == nil {
			serve(conn, r.FormValue("n") == "1")
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Shown are the ephemeral messages' texts, by user.
func (s *End) Shown() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.shown)
}

// Links counts Socket Mode links, as the store does.
type Links struct {
	mu    sync.Mutex
	taken map[string]bool
}

// NewLinks makes Links, all of them free.
func NewLinks() *Links { return &Links{taken: map[string]bool{}} }

// TakeLink takes a link, unless so many are taken.
func (m *Links) TakeLink(_ context.Context, id string, most int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken[id] = true
	if len(m.taken) > most {
		delete(m.taken, id)
		return false, nil
	}
	return true, nil
}

// DropLink gives a link back.
func (m *Links) DropLink(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.taken, id)
	return nil
}
