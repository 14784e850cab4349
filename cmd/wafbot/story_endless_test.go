package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// A service that lists attacks without end takes no more memory than any other. Status says that not all attacks are
// watched until they are again; incidents are always watched.
func TestTheServiceListsAttacksWithoutEnd(t *testing.T) {
	full.Only(t)
	endless := func(w *world) { require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "endless"})) }
	story(t, endless, func(t *testing.T, w *world) {
		const capped = `"capped":"over 40,000 attacks in 24 h: only the newest and all incidents are watched"`
		body := ""
		require.Eventually(t, func() bool {
			_, body = w.get("/readyz")
			return strings.Contains(body, capped)
		}, patience, 100*time.Millisecond)
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		_, body = w.get("/metrics")
		require.Contains(t, body, `wafbot_account_capped{account="acme"} 1`)
		w.types("vic", "status")
		w.ephemeral("vic", "Not all attacks are watched: over 40,000 attacks in 24 h")
		w.attack(waf.AttackSpec{Path: "/worked", Hits: 100, Vulnerability: sqlHole()})
		w.card("/worked", "critical incident")

		w.stop()
		w.start()
		w.polls(3)
		_, body = w.get("/readyz")
		require.Contains(t, body, capped, "also after a restart")
		w.stop()
		w.WAF.ClearFaults()
		w.start()
		w.polls(3)
		_, body = w.get("/readyz")
		require.NotContains(t, body, "capped")
	})
}
