package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// People without a role write 80 lines of 35 kB to the bot: 4 MB of Redis have room for what comes of them, and for a
// card and a denial afterwards.
func TestStrangersCannotFillRedis(t *testing.T) {
	full.Only(t)
	if testing.Short() {
		t.Skip("wants a real redis-server")
	}
	t.Parallel()
	redis := realRedis(t)
	playOver(t, redis, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.Slack.SetRateLimits(false)
		redis.asks(t, "CONFIG SET maxmemory 4mb")
		line := "@wafbot deny 203.0.113.9 reason=\"" + strings.Repeat("B", 35_000) + "\""
		for i := range 80 {
			w.writes([]string{"guest", "eve"}[i%2], "#waf", "", line)
		}
		told := func() int {
			return len(w.ephemerals("guest", "You have no role here")) + len(w.ephemerals("eve", "You have no role here"))
		}
		w.until("three of each are recorded, and each hears that the others aren't answered", func() bool { return told() == 2*(3+1) })
		status, _ := w.get("/readyz")
		require.Equal(t, 200, status)
		require.Equal(t, 2*3, strings.Count(w.journal.String(), `"outcome":"refused"`))
		require.NotContains(t, w.journal.String(), strings.Repeat("B", 600))
		w.attack(injection())
		card := w.card("/login")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.entries("acme"), 1)
		w.stop()
		require.Contains(t, w.journal.String(), "and 74 more refused until ")
		require.Equal(t, 2*(3+1), told(), "a flood of refusals sends Slack no more")
	})
}
