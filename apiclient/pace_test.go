package apiclient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// pipes is a network inside the process, so that synctest's clock can run over it.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inTime runs the test on synctest's clock with a client that has the real pauses, and records when requests arrived.
func inTime(t *testing.T, fault func(http.ResponseWriter, *http.Request) bool, test func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		s := newService(t)
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			at = append(at, time.Since(begin))
			mu.Unlock()
			return fault(w, r)
		}
		net := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := httptest.NewUnstartedServer(s)
		_ = server.Listener.Close()
		server.Listener = net
		server.Start()
		transport := &http.Transport{DialContext: net.dial, DisableKeepAlives: true}
		c, err := apiclient.New(apiclient.Config{BaseURL: "http://service.example.com/", Token: goodToken, ClientID: 5, HTTP: &http.Client{Transport: transport}})
		require.NoError(t, err)
		test(t, c, func() []time.Duration { mu.Lock(); defer mu.Unlock(); return at })
		transport.CloseIdleConnections()
		server.Close()
	})
}

func TestPausesDoubleWithJitter(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"limited": 429, "server": 503} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTime(t, body(status, "{}"), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
				_, err := c.User(t.Context())
				require.Error(t, err)
				at := arrived()
				require.Len(t, at, 4)
				for i, least := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
					pause := at[i+1] - at[i]
					require.GreaterOrEqual(t, pause, least)
					require.LessOrEqual(t, pause, least*3/2)
				}
			})
		})
	}
}

func TestLockedRulesAreTriedEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	inTime(t, times(2, body(423, `{"status":423,"body":"locked"}`)), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
		_, err := c.CreateRule(t.Context(), patch())
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0, 5 * time.Second, 10 * time.Second}, arrived())
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	after := func(value string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT") // the service's clock is another than ours
			w.Header().Set("Retry-After", value)
			return body(429, "{}")(w, r)
		}
	}
	for value, want := range map[string]time.Duration{"7": 7 * time.Second, "120": 2 * time.Minute, "Sat, 21 Nov 2026 10:00:40 GMT": 40 * time.Second} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			inTime(t, times(1, after(value)), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
				_, err := c.CreateRule(t.Context(), patch())
				require.NoError(t, err)
				require.Equal(t, []time.Duration{0, want}, arrived())
			})
		})
	}
	for value, want := range map[string]time.Duration{"121": 121 * time.Second, "99999999999999999999999": 365 * 24 * time.Hour, "Sat, 21 Nov 2026 12:00:00 GMT": 2 * time.Hour} {
		t.Run("absurd "+value, func(t *testing.T) {
			t.Parallel()
			inTime(t, after(value), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
				_, err := c.User(t.Context())
				require.Equal(t, apiclient.RateLimited, apiclient.KindOf(err))
				require.Equal(t, want, asError(t, err).RetryAfter)
				require.Len(t, arrived(), 1)
			})
		})
	}
	for _, value := range []string{"soon", "-5", "0", "Sat, 21 Nov 2026 09:00:00 GMT"} {
		t.Run("useless "+value, func(t *testing.T) {
			t.Parallel()
			inTime(t, times(1, after(value)), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
				_, err := c.User(t.Context())
				require.NoError(t, err)
				require.LessOrEqual(t, arrived()[1], 1500*time.Millisecond)
			})
		})
	}
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	inTime(t, body(423, "{}"), func(t *testing.T, c *apiclient.Client, arrived func() []time.Duration) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := c.User(ctx)
		require.Equal(t, apiclient.Locked, apiclient.KindOf(err)) // the reason, at once: the pause could not end in time
		require.Zero(t, time.Since(begin))

		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, stop)
		_, err = c.User(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, apiclient.Locked, apiclient.KindOf(err))
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Len(t, arrived(), 2)
	})
}

func TestWaitingForAnothersClientIDEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newService(t)
	asked := make(chan struct{})
	s.fault = func(_ http.ResponseWriter, r *http.Request) bool { close(asked); <-r.Context().Done(); return true }
	c := s.start(func(cfg *apiclient.Config) { cfg.ClientID = 0 })
	first, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.DeleteIPRules(first, 7) }()
	<-asked
	second, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	err := c.DeleteIPRules(second, 7)
	require.ErrorIs(t, err, context.Canceled)
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
