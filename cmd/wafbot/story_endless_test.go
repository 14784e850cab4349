package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/norace"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// A service that lists attacks without end takes no more memory than any other. People learn once that not all attacks are watched, and once that all
// are again; incidents are always watched.
func TestTheServiceListsAttacksWithoutEnd(t *testing.T) {
	norace.Defer(t)
	const notice = "acme: over 50,000 attacks in 24 h: only the newest and all incidents are watched"
	endless := func(w *world) { require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "endless"})) }
	storyOver(t, eitherWay(), endless, func(t *testing.T, w *world) {
		w.message("#waf", notice)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"capped":"over 50,000 attacks in 24 h: only the newest and all incidents are watched"`)
		_, body = w.get("/metrics")
		require.Contains(t, body, `wafbot_account_capped{account="acme"} 1`)
		w.types("vic", "status")
		w.ephemeral("vic", "Not all attacks are watched: over 50,000 attacks in 24 h")
		w.attack(waf.AttackSpec{Path: "/worked", Hits: 100, Vulnerability: sqlHole()})
		w.card("/worked", "critical incident")

		w.stop()
		w.start()
		w.polls(3)
		require.Equal(t, 1, w.count("#waf", notice), "also after a restart")
		w.stop()
		w.WAF.ClearFaults()
		w.start()
		w.message("#waf", "acme: all attacks are watched again", "over 50,000 attacks in 24 h", "gets a card if it is hit again")
		w.polls(3)
		require.Equal(t, 1, w.count("#waf", notice))
		require.Equal(t, 1, w.count("#waf", "acme: all attacks are watched again"))
		_, body = w.get("/readyz")
		require.NotContains(t, body, "capped")
	})
}
