package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// One person clicks and types in vain on an account whose service hangs: another person on another account notices nothing, and the first one is told
// when it is too much.
func TestAnAccountThatHangsHoldsNoOther(t *testing.T) {
	story(t, bothAccounts, func(t *testing.T, w *world) {
		const kept = 1 + 64
		lines := full.Of(100, 420)
		w.rough = true
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "hang"}))
		for i := range lines {
			w.types("rob", fmt.Sprintf("deny 198.51.100.%d for=1h reason=%d", i%250, i))
		}
		w.typesIn("#waf-globex", "ann", "deny 203.0.113.99")
		w.message("#waf-globex", "Deny 203.0.113.99", "Anna Weber")
		require.Len(t, w.entries("globex"), 1)
		require.Empty(t, w.ephemerals("rob", "accepted by the service"))
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "Not done: 64 of your lines wait already")) >= lines-kept-1
		})
	})
}

// A person who types on without waiting for answers means the lines in that order.
func TestAPersonsLinesKeepTheirOrder(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		const times = 4
		for i := range times {
			w.types("rob", fmt.Sprintf("deny 198.51.100.%d", i))
			w.types("rob", "undo")
		}
		w.until("answers", func() bool { return len(w.ephemerals("rob", "ndo")) >= times })
		require.Empty(t, w.entries("acme"))
	})
}
