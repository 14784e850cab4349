package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An attack from its first hit to its end, and what is written of it: in Slack, at the terminal, for programs; and whether the audit log is whole.
func TestAnAttackAndItsReport(t *testing.T) {
	story(t, func(w *world) { w.cfg.Accounts[0].OngoingFor = 3 * time.Second }, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it")
		card.click("rob", "Deny "+attacker)
		card.says("Deny " + attacker)
		w.types("rob", "note attack="+card.id()+" same *botnet* as on Monday")
		card.says("under Details")
		w.types("vic", "deny 198.51.100.9 attack="+card.id())
		w.ephemeral("vic", "deny needs the role responder")
		w.types("ann", "verdict real attack="+card.id())
		card.says("verdict real")
		require.NoError(t, w.WAF.StopAttack(attack))
		card.says("ENDED")
		w.types("rob", "undo")
		card.undone("Rob Diaz")

		parts := []string{
			"First hit, says the service", "First seen by wafbot", "Card posted", "Rob Diaz is on it", "Deny " + attacker + " everywhere for 4 h", "As wafbot had seen it",
			"Note of Rob Diaz: same *botnet* as on Monday", "deny needs the role", "Verdict: real, by Anna Weber", "Quiet: no hit since", "Undo of: Deny", "Nothing of wafbot's for this attack",
		}
		w.types("vic", "report attack="+card.id())
		w.ephemeral("vic", append(parts[:4:4], "The report as Markdown", "times are those of UTC")...)
		card.opens("vic", "More…", "Report")
		w.presses("vic", "Report…")
		w.sees("vic", append(parts[:4:4], "The report as Markdown")...)
		w.leaves("vic")
		got := w.atShell("report", "attack="+card.id())
		require.Equal(t, exitDone, got.code, got.err)
		require.True(t, strings.HasPrefix(got.out, "# Attack `"+card.id()+"`: SQL injection on Shop\n"), got.out)
		require.Contains(t, got.out, "times are those of Europe/Berlin")
		at := 0
		for _, part := range parts {
			rest := strings.NewReplacer("**", "", "`", "").Replace(got.out)[at:]
			i := strings.Index(rest, part)
			require.GreaterOrEqual(t, i, 0, "%q, in this order, in\n%s", part, got.out)
			at += i
		}
		got = w.atShell("report", "attack="+card.id(), "--json")
		require.Contains(t, got.out, `"evidence": {`)
		w.auditAgrees(t)
	})
}

// auditAgrees compares what the bot printed with its store.
func (w *world) auditAgrees(t *testing.T) {
	got := w.atShell("audit", "export")
	require.Equal(t, exitDone, got.code, got.err)
	var printed []string
	for line := range strings.Lines(w.journal.String()) {
		if strings.HasPrefix(line, `{"audit":`) {
			printed = append(printed, line)
		}
	}
	number := func(line string) int {
		return decode[struct{ Audit struct{ N int } }](t, line).Audit.N
	}
	slices.SortFunc(printed, func(a, b string) int { return number(a) - number(b) }) // two that come at once may be printed in either order
	require.Equal(t, strings.Join(printed, ""), got.out)
	require.Greater(t, len(printed), 4)
	got = w.atShell("audit", "export", "by=anna")
	require.Equal(t, 1, strings.Count(got.out, "\n"))

	w.types("vic", "audit export")
	w.ephemeral("vic", "wafbot audit export account=acme")
}
