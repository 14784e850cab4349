package apiclient_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// tenants are accounts that share one HTTP client, and the service that they ask over TLS.
type tenants struct {
	t       *testing.T
	clients []*apiclient.Client
	http    *http.Client
	opened  atomic.Int64 // connections
	resumed atomic.Int64 // requests on a connection that resumed a session
	version atomic.Int64 // of HTTP, in the last request
}

func newTenants(t *testing.T, http2 bool) *tenants {
	ts := &tenants{t: t, http: apiclient.NewHTTP()}
	service := newService(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ts.version.Store(int64(r.ProtoMajor))
		if r.TLS.DidResume {
			ts.resumed.Add(1)
		}
		service.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that were begun for a request which another one took
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			ts.opened.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	ts.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = trusted
	t.Cleanup(ts.http.CloseIdleConnections)
	for range 12 {
		c, err := apiclient.New(apiclient.Config{BaseURL: server.URL, Token: goodToken, ClientID: 5, HTTP: ts.http})
		require.NoError(t, err)
		ts.clients = append(ts.clients, c)
	}
	return ts
}

// ask has all accounts ask at once and gives the number of connections that were opened for it.
func (ts *tenants) ask() int64 {
	before := ts.opened.Load()
	var asked sync.WaitGroup
	for _, c := range ts.clients {
		asked.Go(func() {
			for _, err := range c.Attacks(ts.t.Context(), apiclient.AttackFilter{}) {
				if err != nil {
					ts.t.Error(err)
				}
			}
		})
	}
	asked.Wait()
	return ts.opened.Load() - before
}

func TestAccountsShareConnections(t *testing.T) {
	t.Parallel()
	t.Run("HTTP/1.1", func(t *testing.T) {
		t.Parallel()
		ts := newTenants(t, false)
		require.LessOrEqual(t, ts.ask(), int64(12))
		require.Equal(t, int64(1), ts.version.Load())
		again := int64(0)
		for range 10 {
			again += ts.ask()
		}
		require.Less(t, again, int64(40), "120 requests: one that starts before another ends may dial")
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		ts := newTenants(t, true)
		all := ts.clients
		ts.clients = all[:1]
		require.Equal(t, int64(1), ts.ask())
		require.Equal(t, int64(2), ts.version.Load())
		ts.clients = all
		require.Zero(t, ts.ask())
	})
	t.Run("a lost connection resumes its session", func(t *testing.T) {
		t.Parallel()
		ts := newTenants(t, false)
		ts.clients = ts.clients[:1] // with more, a connection that was begun for one can still come up
		require.Equal(t, int64(1), ts.ask())
		require.Zero(t, ts.resumed.Load())
		ts.http.CloseIdleConnections()
		require.Equal(t, int64(1), ts.ask())
		require.Equal(t, int64(1), ts.resumed.Load())
	})
}
