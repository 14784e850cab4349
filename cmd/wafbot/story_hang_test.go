package main

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// A Redis that takes connections and says nothing is worse than one that is away: everybody is answered in Slack's time all the same.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	for _, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { silent.Close() })
			w := newWorld(t, memory{url: "redis://" + silent.Addr().String() + "/0"}, way)
			w.start()
			defer func() {
				w.stop()
				w.requireClean()
			}()
			var late []string
			var lock sync.Mutex
			var busy sync.WaitGroup
			for i := range 256 {
				busy.Go(func() {
					d, err := w.Slack.Command(t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("deny 198.51.100.%d", i)})
					if err != nil || !d.Acked || d.Took > 2500*time.Millisecond {
						lock.Lock()
						defer lock.Unlock()
						late = append(late, d.Took.String()+" "+d.Warning)
					}
				})
			}
			busy.Wait()
			require.Empty(t, late)
			w.until("answers", func() bool { return len(w.whispers("rob", "perhaps not recorded")) == 256 })
			status, body := w.get("/healthz")
			require.Equal(t, 200, status, body)
			require.Empty(t, w.sent())
		})
	}
}
