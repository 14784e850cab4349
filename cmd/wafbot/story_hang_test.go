package main

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// A Redis that takes connections and says nothing is worse than one that is away: everybody is answered all the same.
func TestRedisHangs(t *testing.T) {
	full.Only(t)
	t.Parallel()
	const commands = 64
	for _, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { silent.Close() })
			w := newWorld(t, redisServer{url: "redis://" + silent.Addr().String() + "/0"}, way)
			w.starts()
			var late []string
			var lock sync.Mutex
			var busy sync.WaitGroup
			for i := range commands {
				busy.Go(func() {
					d, err := w.Slack.Command(t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("deny 198.51.100.%d", i)})
					if err != nil || !d.Acked {
						lock.Lock()
						defer lock.Unlock()
						late = append(late, d.Took.String()+" "+d.Warning)
					}
				})
			}
			busy.Wait()
			require.Empty(t, late)
			w.until("answers", func() bool { return len(w.ephemerals("rob", "perhaps not recorded")) == commands })
			status, body := w.get("/healthz")
			require.Equal(t, 200, status, body)
			require.Empty(t, w.sent())
		})
	}
}
