package chaos

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wafbot/wafbot/internal/proxytest"
)

// wire is the network between the replicas and something they talk to.
type wire struct {
	name  string
	proxy *proxytest.Proxy
}

func newWire(t testing.TB, name, upstream string) *wire {
	t.Helper()
	return &wire{name: name, proxy: proxytest.Start(t, upstream)}
}

// disturb makes the wire misbehave for a while.
func (w *wire) disturb(ctx context.Context, how disturbance, lasts time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	how(ctx, w.proxy)
	<-ctx.Done()
	return w.proxy.Restore()
}

// disturbance is something wrong with a wire that is there. It starts, and may go on until the context ends.
type disturbance func(ctx context.Context, proxy *proxytest.Proxy)

// disturbances are the disturbances, by name in the report.
func disturbances() map[string]disturbance {
	return map[string]disturbance{
		"cut": func(_ context.Context, proxy *proxytest.Proxy) { proxy.Refuse() },
		"slow": func(_ context.Context, proxy *proxytest.Proxy) {
			proxy.SetDelay(func() time.Duration { return 100*time.Millisecond + rand.N(time.Second) })
		},
		"reset": func(ctx context.Context, proxy *proxytest.Proxy) {
			proxy.SetFilters(proxytest.Drop, proxytest.Drop)
			for ctx.Err() == nil {
				pause(ctx, 50*time.Millisecond)
				proxy.Reset()
			}
		},
		"answers lost": func(_ context.Context, proxy *proxytest.Proxy) {
			proxy.SetReplyFilters(func() proxytest.Filter { return limit(40) })
		},
		"hangs": func(_ context.Context, proxy *proxytest.Proxy) { proxy.SetFilters(nil, proxytest.Drop) },
	}
}

// limit passes so many bytes on, and then closes the connection.
func limit(left int) proxytest.Filter {
	return func(chunk []byte) ([]byte, bool) {
		chunk = chunk[:min(left, len(chunk))]
		left -= len(chunk)
		return chunk, left > 0
	}
}

// pause waits, but no longer than the context lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
