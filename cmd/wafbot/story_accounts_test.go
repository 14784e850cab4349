package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// bothAccounts has the bot watch globex too: another client of the same service, with a channel of its own.
func bothAccounts(w *world) {
	all, err := demoConfig(w.World)
	require.NoError(w.t, err)
	globex := all.Accounts[1]
	globex.PollInterval = w.cfg.Accounts[0].PollInterval
	w.cfg.Accounts = append(w.cfg.Accounts, globex)
}

// stuffing is an attack on globex's Portal, which blocks whatever looks like an attack: this doesn't.
func stuffing() waf.AttackSpec {
	return waf.AttackSpec{Account: "globex", Type: "brute", Path: "/signin", Sources: []waf.SourceSpec{{IP: attacker, PerSecond: 4}}, Started: waf.Duration(time.Minute)}
}

func TestAccountsAreApart(t *testing.T) {
	story(t, bothAccounts, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		acme, globex := w.card("/login"), w.cardIn("#waf-globex", "/signin", "Brute force")
		require.Empty(t, w.cards("#waf", "/signin"))
		require.Empty(t, w.cards("#waf-globex", "/login"))

		globex.click("rob", "Deny "+attacker)
		globex.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.entries("globex"), 1)
		require.Empty(t, w.entries("acme"), "the same address, another account")
		acme.click("ann", "Deny "+attacker)
		acme.says("Deny "+attacker+" · ", "Anna Weber")
		require.Len(t, w.entries("acme"), 1)
		globex.undo("rob", "Deny "+attacker)
		globex.undone("Rob Diaz")
		require.Empty(t, w.entries("globex"))
		require.Len(t, w.entries("acme"), 1)

		w.typesIn("#waf-globex", "rob", "deny 198.51.100.50")
		w.message("#waf-globex", "Deny 198.51.100.50")
		require.Len(t, w.entries("globex"), 1, "the account of the channel")
		w.typesIn("#random", "rob", "deny 198.51.100.51")
		w.ephemeral("rob", "Missing: account=, one of: acme, globex")
		w.typesIn("#random", "rob", "deny 198.51.100.51 account=globex")
		w.message("#waf-globex", "Deny 198.51.100.51")
		w.typesIn("#random", "rob", "status")
		w.ephemeral("rob", "Status of acme, globex", "Going on: 2 attacks")
		for _, r := range w.sent() {
			id := map[string]string{"acme": `"clientid":5`, "globex": `"clientid":9`}[r.Account]
			require.True(t, strings.Contains(r.Body, id), "%s: %s", r.Account, r.Body)
		}
	})
}
