package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// twoTeams gives Rob a role on acme alone, Vic one on globex alone, and Ann one on both. All of them can read both channels.
func twoTeams(w *world) {
	bothAccounts(w)
	accounts := ""
	for i, a := range w.cfg.Accounts {
		accounts += fmt.Sprintf("  - {name: %s, api_url: %q, token: %s, client_id: %d, channel: %s, poll_interval: 250ms, policy: {responders: [%s]}}\n",
			a.Name, a.APIURL, a.Token.Reveal(), a.ClientID, a.Channel, []string{"U0ROB0002", "U0VIC0003"}[i])
	}
	cfg, err := config.Load(writeConfig(w.t, "sources: []\npolicy: {changes: on, viewers: [], admins: [U0ANN0001]}\naccounts:\n"+accounts), nil)
	require.NoError(w.t, err)
	cfg.Slack, cfg.Redis = w.cfg.Slack, w.cfg.Redis
	w.cfg = cfg
}

// Rob of acme is refused on globex on every way in, and nothing that he is shown tells of it.
func TestTwoTeams(t *testing.T) {
	story(t, twoTeams, func(t *testing.T, w *world) {
		w.attack(injection())
		w.attack(stuffing())
		acme, globex := w.card("/login"), w.cardIn("#waf-globex", "/signin")
		id := globex.id()
		const hidden = "Unknown account: globex. One of: acme"

		// By button, also one that only shows more, and one that opens a form.
		globex.click("rob", "Deny "+attacker)
		w.ephemeral("rob", hidden)
		globex.opens("rob", "More…", hidden)
		w.leaves("rob")

		// By line: what isn't there and what isn't his are the same.
		n := len(w.ephemerals("rob", hidden))
		lines := []string{"status", "lists", "audit", "deny 203.0.113.9", "undo", "ack attack=" + id, "report attack=" + id, "attack " + id}
		for _, line := range lines {
			w.typesIn("#random", "rob", line+" account=globex")
		}
		w.until("refusals", func() bool { return len(w.ephemerals("rob", hidden)) == n+len(lines) })
		w.typesIn("#random", "rob", "lists account=nowhere")
		w.ephemeral("rob", "Unknown account: nowhere. One of: acme")
		for _, line := range []string{"attack " + id, "report attack=" + id, "deny attack=" + id} {
			w.typesIn("#random", "rob", line)
			w.until("refusal of "+line, func() bool { return len(w.ephemerals("rob", "Unknown attack: "+id)) > 0 })
		}
		w.typesIn("#waf-globex", "rob", "deny 203.0.113.9")
		w.ephemeral("rob", "Missing: account=, one of: acme")

		// By form.
		w.types("rob", "deny account=globex")
		w.sees("rob", hidden)
		w.leaves("rob")

		// By approval, of what Vic asks for, who may.
		w.typesIn("#waf-globex", "vic", "deny country:FR")
		request := w.follow(w.message("#waf-globex", "APPROVAL NEEDED", "Deny country:FR"))
		request.click("rob", "Approve")
		w.until("refusal of the approval", func() bool {
			return w.journal.has(`"account":"globex"`, "U0ROB0002", `"line":"approve`, "no role on this account")
		})
		asked := requestIn(plain(request.now()))
		w.types("rob", "approve "+asked)
		w.ephemeral("rob", "Unknown request: "+asked+", on acme. ")
		w.typesIn("#waf-globex", "vic", "handover to=U0ROB0002 attack="+id)
		w.ephemeral("vic", "Rob Diaz has no role here")
		require.Empty(t, w.sent())

		// What he may see is acme alone: status, Home, listings, the audit log.
		for _, line := range []string{"status", "attacks", "audit", "whoami"} {
			before := len(w.ephemerals("rob"))
			w.typesIn("#random", "rob", line)
			w.until(line, func() bool { return len(w.ephemerals("rob")) > before })
			all := w.ephemerals("rob")
			require.NotContains(t, plain(all[len(all)-1]), "globex", line)
			require.NotContains(t, plain(all[len(all)-1]), "/signin", line)
		}
		w.opensHome("rob")
		home := w.home("rob", "Going on: 1 attack", acme.id(), "1 of 1 account watched well", "Your role: responder")
		require.NotContains(t, home, "globex")
		require.NotContains(t, home, id)
		acme.click("rob", "Deny "+attacker)
		acme.says("Deny "+attacker+" · ", "Rob Diaz")

		// Ann sees both, and in globex's log what Rob tried. A stranger's refusal without an account stands in neither.
		w.typesIn("#random", "ann", "status")
		w.ephemeral("ann", "Status of acme, globex", "Going on: 2 attacks")
		w.typesIn("#random", "ann", "whoami")
		w.ephemeral("ann", "acme: admin", "globex: admin")
		w.typesIn("#random", "guest", "status")
		w.ephemeral("guest", "You have no role here")
		w.typesIn("#random", "ann", "audit by=rob account=globex")
		w.ephemeral("ann", "deny 203.0.113.9 account=globex", "refused", "no role on this account")
		require.True(t, w.journal.has(`"account":""`, "U0GUEST04", `"line":"status"`))
		for _, a := range []string{"acme", "globex"} {
			require.False(t, slices.ContainsFunc(strings.Split(w.journal.String(), "\n"), func(line string) bool {
				return strings.Contains(line, `"account":"`+a+`"`) && strings.Contains(line, "U0GUEST04")
			}), a)
		}
	})
}

// While Slack doesn't say who a person is, everyone in the workspace is no one: that person could be a guest. Whom the configuration names goes on reading.
func TestSlackDoesntSayWhoAGuestIs(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		w.card(attacker)
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Kind: "internal_error", Method: "users.info"})
		for _, line := range []string{"status", "lists", "audit"} {
			w.types("guest", line)
		}
		w.until("refusals", func() bool { return len(w.ephemerals("guest", "Slack doesn't say who you are just now")) == 3 })
		w.opensHome("guest")
		require.NotContains(t, w.home("guest", "Slack doesn't say who you are just now"), "Going on")
		w.types("rob", "status")
		w.ephemeral("rob", "Going on: 1 attack")
		w.types("rob", "deny "+attacker)
		w.until("refusal of a change", func() bool { return w.journal.has(`"outcome":"refused"`, "U0ROB0002", "doesn't say who you are") })
		require.Empty(t, w.sent())
	})
}
