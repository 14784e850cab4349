package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// One replica's configuration switches changes off: none makes any, whatever account it is about, until that replica is gone.
func TestOneReplicaSwitchesChangesOff(t *testing.T) {
	storyOver(t, eitherWay(), asItIs, func(t *testing.T, w *world) {
		first, address := w.stop, w.address
		off := *w.cfg
		off.Policy.Changes = "off"
		w.cfg = &off
		w.start()
		// statuses waits until the answers of whichever replica say so, one after another.
		statuses := func(says string) {
			w.until("all replicas are "+says, func() bool {
				before := len(w.ephemerals("vic"))
				w.types("vic", "status")
				w.until("an answer", func() bool { return len(w.ephemerals("vic")) > before })
				all := w.ephemerals("vic")
				return len(all) >= 6 && !slices.ContainsFunc(all[len(all)-6:], func(m workspace.Message) bool { return !strings.Contains(plain(m), says) })
			})
		}
		statuses("only watching: changes are switched off")
		for range 4 {
			w.types("rob", "deny "+attacker)
		}
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "changes are switched off (policy.changes: off)")) == 4
		})
		require.Empty(t, w.sent())

		w.stop()
		w.stop, w.address = first, address
		w.DeliverTo(address)
		statuses("live: changes are made")
		w.types("rob", "deny "+attacker)
		w.ephemeral("rob", "accepted")
		require.Len(t, w.entries("acme"), 1)
	})
}
