package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// modeRules are the modes that acme's rules set for Shop.
func (w *world) modeRules() (modes []string) {
	w.t.Helper()
	for _, r := range w.rules("acme", "service_mode") {
		if r.Words == "sets mode "+r.Mode+` for instance equal "4"` {
			modes = append(modes, r.Mode)
		}
	}
	return modes
}

func TestAModeIsSwitchedAndUndone(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		open := func() {
			card.opens("rob", "More…")
			w.presses("rob", "Mode of Shop…")
			w.sees("rob", "Mode of Shop by rules: monitoring")
		}
		open()
		require.Equal(t, workspace.OutcomePushed, w.checked("rob", open, map[string]any{"mode": "block"}).Outcome)
		w.confirms("rob", "Before you do", "incidents are registered only in monitoring")
		w.ephemeral("rob", "Switch Shop to block for 2 h", "accepted by the service")
		require.Equal(t, []string{"block"}, w.modeRules(), "the old rule is gone")
		w.until("block mode in force", func() bool { return w.mode() == "block" })

		card.undo("rob", "Switch Shop to block")
		card.undone("Rob Diaz")
		require.Equal(t, []string{"monitoring"}, w.modeRules(), "as before")
		w.until("monitoring in force", func() bool { return w.mode() == "monitoring" })
	})
}

func TestAQuestionCancelled(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.writes("rob", "#waf", "", "@wafbot mode Shop block") // a mention opens no view
		question := w.ephemeral("rob", "Before you do")
		w.click("rob", question, "Cancel")
		w.ephemeral("rob", "Cancelled. Nothing was done")
		require.Empty(t, w.ephemerals("rob", "Before you do"), "the question is gone")
		require.Equal(t, "monitoring", w.mode())
		require.Empty(t, w.sent())
		require.Equal(t, []waf.IPRuleState{}, w.entries("acme"))
	})
}
