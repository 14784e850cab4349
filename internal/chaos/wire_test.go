package chaos

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// wire is the network between the replicas and something they talk to.
type wire struct {
	name  string
	proxy *toxiproxy.Proxy
}

func newWire(t testing.TB, name, upstream string) *wire {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &wire{name: name, proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)}
	require.NoError(t, w.proxy.Start())
	t.Cleanup(w.proxy.Stop)
	return w
}

// addr is the near end.
func (w *wire) addr() string { return w.proxy.Listen }

// cut takes the wire away for a while: connections break, new ones are refused.
func (w *wire) cut(ctx context.Context, lasts time.Duration) error {
	w.proxy.Stop()
	pause(ctx, lasts)
	return w.proxy.Start()
}

// poison makes the wire misbehave for a while.
func (w *wire) poison(ctx context.Context, toxic string, lasts time.Duration) error {
	added, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
	if err != nil {
		return fmt.Errorf("poison the wire to %s: %w", w.name, err)
	}
	pause(ctx, lasts)
	return w.proxy.Toxics.RemoveToxic(context.Background(), added.Name)
}

// toxics are what can be wrong with a wire that is there, by what it is called in the report.
func toxics() map[string]string {
	return map[string]string{
		"slow":         `{"type":"latency","stream":"downstream","attributes":{"latency":600,"jitter":500}}`,
		"reset":        `{"type":"reset_peer","stream":"upstream","attributes":{"timeout":50}}`,
		"answers lost": `{"type":"limit_data","stream":"downstream","attributes":{"bytes":40}}`,
		"hangs":        `{"type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
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
