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
	}{
		{"before it is sent again", 3, 1, false},
		{"after it was sent again", 0, 1, true},
		{"later than anybody looks", -1, 2, false},
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
			ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
			if c.rules == 2 {
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
