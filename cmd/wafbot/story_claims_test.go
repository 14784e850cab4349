package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// While nobody knows whether one user's denial took place, another user's clicks on other targets are carried out at once; who wants the same target
// waits, and reads who did it.
func TestAStuckTargetHoldsNoOther(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.rough = true
		require.NoError(t, w.WAF.SetFault(waf.Fault{Endpoint: "POST /v4/ip_rules", Kind: "status:500"}))
		w.types("rob", "deny 198.51.100.1")
		w.until("a request", func() bool { return len(w.sent()) > 0 })
		w.types("ann", "patch shop.example.com/login type=sqli part=post.form_urlencoded.login for=2d")
		w.ephemeral("ann", "Patch exactly", "accepted by the service")
		w.types("ann", "deny 198.51.100.1")
		require.Empty(t, w.ephemerals("rob", "accepted by the service"))
		require.Empty(t, w.ephemerals("ann", "198.51.100.1"))
		w.WAF.ClearFaults()
		w.ephemeral("rob", "Deny 198.51.100.1", "accepted by the service")
		w.ephemeral("ann", "198.51.100.1", "by Rob Diaz")
		require.Len(t, w.entries("acme"), 1)
	})
}
