package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who may not act reads at once whom to ask and how: to press a button, or to type a line.
func TestWhomToAsk(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("vic", "Deny "+attacker)
		w.ephemeral("vic", "deny needs the role responder; yours is viewer. Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it")
		w.types("vic", "deny "+attacker+" for=1h")
		w.ephemeral("vic", "Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to type deny "+attacker+" for=1h")
		w.types("rob", "allow 198.51.100.1")
		w.ephemeral("rob", "needs the role admin; yours is responder", "Ask <@U0ANN0001> to type allow 198.51.100.1")
		card.click("guest", "Deny "+attacker)
		w.ephemeral("guest", "a guest of the workspace can't have one", "Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it")
		require.Empty(t, w.sent())
	})
}

// More opens only what one may do. Who may not even read gets one line, and no menu.
func TestMoreOpensOnlyWhatOneMayDo(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		viewers := card.opens("vic", "More…", "Look", "Details", "Report", "You are viewer. What needs more is left out. Ask <@U0ROB0002>, <!subteam^S0WAFRESP>, <@U0ANN0001> to press it").Plain()
		for _, left := range []string{"Triage", "Verdict…", "Deny several…", "Patch only…", "Block POST"} {
			require.NotContains(t, viewers, left)
		}
		responders := card.opens("rob", "More…", "Block", "Deny several…", "Triage", "Verdict…", "You are responder", "Ask <@U0ANN0001> to press it").Plain()
		require.NotContains(t, responders, "Block POST", "blocking a path is an admin's")
		admins := card.opens("ann", "More…", "Block POST").Plain()
		require.NotContains(t, admins, "left out")

		card.click("eve", "More…")
		w.ephemeral("eve", "You have no role here: wafbot answers only members of its own workspace. Ask one of them in this channel")
		card.click("guest", "More…")
		w.ephemeral("guest", "a guest of the workspace can't have one", "Ask any full member of the workspace")
		for _, user := range []string{"eve", "guest"} {
			require.Nil(t, w.Slack.OpenView(user), "no menu for "+user)
			require.Len(t, w.ephemerals(user), 1)
		}
		require.NotContains(t, w.ephemerals("eve")[0].Plain(), "U0", "another workspace isn't told who may act")
	})
}
