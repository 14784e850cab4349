package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadsTyped(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		spec := injection()
		spec.Vulnerability = sqlHole()
		w.attack(spec)
		id := w.card(attacker).id()
		for line, parts := range map[string][]string{
			"":                 {"Status of acme", "Going on: 1 attack", id, "Nothing of wafbot's is in force", "live: changes are made"},
			"status":           {"Status of acme", "Going on: 1 attack", id},
			"incidents":        {"acme: 1 incident in the last 24 h", "INCIDENT SQL injection on Shop"},
			"attacks since=2h": {"acme: 1 attack in the last 2 h", "POST shop.example.com/login"},
			"attack " + id[:5]: {"It worked, says the service: vulnerability 812", attacker + " FR "},
			"lists":            {"acme: 0 entr"},
			"mode Shop":        {"Mode of Shop by rules: monitoring"},
			"audit":            {"acme: "},
			"whoami":           {"Vic Lee: viewer"},
			"help":             {"deny 203.0.113.7 4h", "undo your last change"},
			"help all":         {"deny [TARGET…]", "undo [CHANGE…]"},
			"help deny":        {"put sources on the denylist"},
			"atack 1":          {"Unknown command: atack", "did you mean attack?"},
			"deny 'x":          {"A quote is not closed"},
		} {
			w.types("vic", line)
			w.ephemeral("vic", parts...)
		}
		attack := plain(w.ephemeral("vic", "It worked, says the service"))
		require.Regexp(t, attacker+` FR (79|80) %`, attack, "its share grows a little meanwhile")
		require.Len(t, w.shown("#waf"), 2, "answers are for the one who asks")
		require.Empty(t, w.sent())
	})
}

func TestADenialTypedWithoutACard(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.types("rob", `deny 198.51.100.99 for=1h reason="from the night shift"`)
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 1 h: accepted by the service")
		require.Contains(t, w.entries("acme")[0].Reason, "Rob Diaz (U0ROB0002): from the night shift")
		line := w.message("#waf", "Deny 198.51.100.99 everywhere for 1 h · Rob Diaz")
		w.types("rob", "lists")
		w.ephemeral("rob", "1 entr", "198.51.100.99")

		w.click("ann", line, "Undo")
		w.ephemeral("ann", "Undo of: Deny 198.51.100.99")
		require.Empty(t, w.entries("acme"))
		w.message("#waf", "Undo of: Deny 198.51.100.99", "Anna Weber")
		w.click("rob", line, "Undo")
		w.ephemeral("rob", "undone already by Anna Weber")

		w.types("rob", "deny 198.51.100.98")
		w.message("#waf", "Deny 198.51.100.98")
		w.types("rob", "undo")
		w.ephemeral("rob", "Undo of: Deny 198.51.100.98")
		require.Empty(t, w.entries("acme"))
	})
}

func TestADryRunSendsNothing(t *testing.T) {
	dryRun := func(w *world) { w.cfg.Policy.Changes = "dry_run" }
	story(t, dryRun, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("DRY RUN", attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Dry run: Deny "+attacker+" everywhere for 4 h. Nothing was sent",
			"add to list black: "+attacker, "by Rob Diaz (U0ROB0002)", "create vpatch sqli in post.form_urlencoded.login")
		w.types("rob", "mode Shop block")
		w.confirms("rob", "Before you do")
		w.ephemeral("rob", "Dry run: Switch Shop to block for 2 h", "create mode block", "delete rule")
		w.types("ann", "allow 198.51.100.1")
		w.ephemeral("ann", "Dry run: Allow 198.51.100.1")
		require.Empty(t, w.sent(), "no request that changes anything reached the service")
		require.Len(t, w.shown("#waf"), 2)
		require.True(t, w.journal.has(`"outcome":"dry_run"`, "U0ROB0002"), "audited as what it was")
	})
}
