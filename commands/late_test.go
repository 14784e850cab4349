package commands_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// late is a network that loses the answer to the first creation of a rule and brings the request itself to the service long after: when so many
// pages of rules have been asked for since, or right after the second creation.
type late struct {
	service     http.Handler
	lists       int
	afterSecond bool

	mu   sync.Mutex
	held *http.Request
}

// ServeHTTP implements http.Handler.
func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.URL.Path == "/v1/objects/hint/create" && l.held == nil:
		body, _ := io.ReadAll(r.Body)
		l.held = r.Clone(r.Context())
		l.held.Body = io.NopCloser(bytes.NewReader(body))
		panic(http.ErrAbortHandler)
	case r.URL.Path == "/v1/objects/hint/create" && l.afterSecond:
		defer l.service.ServeHTTP(httptest.NewRecorder(), l.held)
	case r.URL.Path == "/v1/objects/hint" && l.held != nil:
		if l.lists--; l.lists == 0 {
			l.arrive()
		}
	}
	l.service.ServeHTTP(w, r)
}

// arrive has the request be carried out that was held back.
func (l *late) arrive() { l.service.ServeHTTP(httptest.NewRecorder(), l.held) }

// A request that everybody took for lost is carried out after it was sent again: never two rules.
func TestACreationThatArrivesLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		lists    int // at which page the first one appears
		rules    int // afterwards
		takeBack bool
		kept     bool // the service refuses to delete the one that is too many
	}{
		{"before it is sent again", 3, 1, false, false},
		{"after it was sent again", 0, 1, true, false},
		{"after it was sent again, and it can't be deleted", 0, 2, false, true},
		{"later than anybody looks", -1, 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, now: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
			net := &late{lists: c.lists, afterSecond: c.lists == 0}
			w.build(func(h http.Handler) (string, *http.Client) {
				net.service = h
				server := httptest.NewServer(net)
				t.Cleanup(server.Close)
				return server.URL, server.Client()
			}, nil)
			if c.kept {
				w.fault("POST /v1/objects/hint/delete", "status:403", 0)
			}
			ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
			w.service.ClearFaults()
			if c.lists < 0 {
				require.Len(t, w.rules("vpatch"), 1)
				net.arrive()
				w.service.CatchUp()
			}
			require.Len(t, w.rules("vpatch"), c.rules)
			require.Equal(t, c.takeBack, bytes.Contains([]byte(w.out.String()), []byte("made twice")))
			w.does(ann, "undo "+ch.ID)
			require.Empty(t, w.rules("vpatch"))
		})
	}
}

// slowCreation is a network on which the first creation of a rule takes so long, as where the client pauses and tries again, and loses its answer.
type slowCreation struct {
	service http.Handler
	took    func()
	once    sync.Once
}

// ServeHTTP implements http.Handler.
func (s *slowCreation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/objects/hint/create" {
		s.once.Do(func() {
			s.took()
			s.service.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
	s.service.ServeHTTP(w, r)
}

// What was sent again by the client itself is waited for from its last try on: the listing is behind that one, too.
func TestACreationThatTakesLong(t *testing.T) {
	t.Parallel()
	w := &world{t: t, now: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
	w.build(func(h http.Handler) (string, *http.Client) {
		server := httptest.NewServer(&slowCreation{service: h, took: func() { w.pass(40 * time.Second) }})
		t.Cleanup(server.Close)
		return server.URL, server.Client()
	}, nil)
	w.lags()
	require.Equal(t, 1, w.requests("POST /v1/objects/hint/create", func() { w.does(ann, "patch shop.example.com/login type=sqli part=get.q") }))
	require.Len(t, w.rules("vpatch"), 1)
}
