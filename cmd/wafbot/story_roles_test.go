package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStrangerAndAGuest(t *testing.T) {
	// Listed by mistake, or before they became what they are: the workspace's word counts.
	listed := func(w *world) {
		w.cfg.Policy.Responders = append(w.cfg.Policy.Responders, "U0GUEST04", "U0EVE0005", "*")
	}
	story(t, listed, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		for _, user := range []string{"guest", "eve"} {
			card.click(user, "Deny "+attacker)
			w.ephemeral(user, "You have no role here")
			w.types(user, "status")
			w.until("two refusals", func() bool { return len(w.ephemerals(user, "You have no role here")) == 2 })
			require.Len(t, w.ephemerals(user), 2, "and nothing else")
		}
		require.Empty(t, w.sent())
		require.True(t, w.journal.has(`"outcome":"refused"`, "U0EVE0005"))
		require.True(t, w.journal.has(`"outcome":"refused"`, "U0GUEST04"))

		rob, ok := w.Slack.UserByName("rob")
		require.True(t, ok)
		rob.Restricted = true // made a guest, after the card was posted
		require.NoError(t, w.Slack.SetUser(rob))
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "You have no role here")
		require.Empty(t, w.sent())
	})
}
