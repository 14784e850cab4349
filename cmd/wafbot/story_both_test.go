package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Slack delivers over one way or the other. Should a delivery ever come over both, it has one effect all the same.
func TestTheSameOverBothWays(t *testing.T) {
	overOne(t, workspace.IngressBoth, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted", "Patch exactly POST shop.example.com/login")
		card.says("Deny "+attacker+" · ", "Rob Diaz", "Patch POST shop.example.com/login")
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.rules("acme", "vpatch"), 1)

		w.writes("rob", "#waf", card.ts, `@wafbot note "the partner's scanner"`)
		w.types("rob", "note attack="+card.id()+" seen")
		card.says("2 notes under Details")
		w.types("ann", "handover to=@me attack="+card.id())
		card.says("<@U0ANN0001> is on it")
		done := plain(w.ephemeral("rob", "Deny "+attacker, "accepted"))
		w.types("rob", "extend "+changeIn(done)+" for=1h")
		w.ephemeral("rob", "Extend")
		w.types("ann", "undo "+changeIn(done))
		w.ephemeral("ann", "Undo of: Deny "+attacker)
		w.until("nothing denied", func() bool { return len(w.entries("acme")) == 0 })
		require.Len(t, w.rules("acme", "vpatch"), 1, "each has its own undo")
		_, patch, _ := strings.Cut(done, "Patch exactly")
		w.types("ann", "undo "+changeIn(patch))
		w.ephemeral("ann", "Undo of: Patch exactly")
		require.Empty(t, w.rules("acme", "vpatch"))
		w.types("rob", "attack "+card.id())
		answer := w.ephemeral("rob", "First hit").Plain()
		require.Equal(t, 1, strings.Count(answer, "the partner's scanner"), answer)
		require.Equal(t, 1, strings.Count(answer, "seen"), answer)
		w.types("rob", "note attack="+card.id()+" last") // whatever was answered twice came before
		card.says("3 notes under Details")
		require.Len(t, w.ephemerals("rob", "First hit"), 1)
		require.Empty(t, w.ephemerals("rob", "done already"))
		w.until("the thread says who has it", func() bool { return len(card.replies("takes this attack over")) > 0 })
		require.Len(t, card.replies("takes this attack over"), 1)
	})
}
