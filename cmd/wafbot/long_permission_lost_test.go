package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func withConsole(w *world) {
	w.cfg.Accounts[0].ConsoleURL = "https://console.example.com/attacks"
}

// The token is revoked under the running bot. The channel has one notice, with what to do by hand, which says more as
// more is refused, and one message when it is over; a restart in between changes nothing of that.
func TestTheTokenIsRevoked(t *testing.T) {
	story(t, withConsole, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "mode Shop block for=10s")
		w.confirms("rob", "Before you do")
		w.ephemeral("rob", "Switch Shop to block for 10 s", "accepted")
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "unauthenticated"}))

		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "doesn't accept wafbot's token any more", "Nothing was done")
		notice := w.message("#waf", "WAF permission lost: wafbot can't change anything on acme", "(403)", "NOT done: Deny "+attacker+" everywhere for 4 h, asked by Rob Diaz",
			"add to the denylist: "+attacker+", everywhere", "token_file", "Shop should return to monitoring")
		lost := w.follow(notice)
		lost.says("Shop should return to monitoring", "NOT done", "set the mode of Shop to monitoring")
		w.stop()
		w.start()
		w.typesIn("#waf", "ann", "deny 198.51.100.50")
		lost.says("NOT done: Deny 198.51.100.50 everywhere for 4 h, asked by Anna Weber")
		lost.click("rob", "Open console")
		lost.click("rob", "do:1")
		w.ephemeral("rob", "doesn't accept wafbot's token any more")
		require.Empty(t, w.entries("acme"))
		require.Equal(t, []string{"block"}, w.modeRules())
		require.Equal(t, 1, w.count("#waf", "WAF permission lost"))
		require.False(t, w.journal.has("unknown action"))

		w.WAF.ClearFaults()
		lost.click("rob", "do:1")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.message("#waf", "wafbot can change acme again", "Still NOT done: Deny 198.51.100.50 everywhere for 4 h")
		lost.says("Over since")
		require.Len(t, w.entries("acme"), 1)
		w.polls(4)
		require.Equal(t, 1, w.count("#waf", "wafbot can change acme again since"))
		require.Equal(t, 0, w.count("#waf", "WAF permission lost"), "the notice says that it is over")
	})
}

// follow is a message that changes, as a card does.
func (w *world) follow(m workspace.Message) shownCard { return shownCard{w, m.Channel, m.TS} }

// A token that may change lists and not modes: precisely that is said.
func TestTheTokenMayNotSwitchModes(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: createRule, Kind: "status:403"}))
		w.types("rob", "mode Shop block attack="+card.id())
		w.confirms("rob", "Before you do")
		w.ephemeral("rob", "Failed: Switch Shop to block for 2 h", "lacks the permission")
		w.until("a reply", func() bool { return len(card.replies("Failed: Switch Shop to block for 2 h")) > 0 })
		notice := w.follow(w.message("#waf", "WAF permission lost: wafbot can't switch modes on acme", "set the mode of Shop to block", "may not switch modes"))
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.polls(4)
		require.Zero(t, w.count("#waf", "can change acme again"), "that lists can be changed says nothing of modes")
		w.WAF.ClearFaults()
		notice.click("rob", "Try now")
		w.message("#waf", "wafbot can change acme again")
		notice.says("Over since")
		require.Equal(t, []string{"block"}, w.modeRules())
		card.says("block mode, Shop", "[Undo…]")
		w.until("it is done by now", func() bool { return !says(card.now(), "NOT done") })
		require.Zero(t, w.count("#waf", "WAF API unreachable"))
	})
}

// A new token in the token's file is taken without a restart.
func TestANewTokenInItsFile(t *testing.T) {
	var file, good string
	fromFile := func(w *world) {
		file, good = filepath.Join(w.t.TempDir(), "token"), w.cfg.Accounts[0].Token.Reveal()
		require.NoError(w.t, os.WriteFile(file, []byte(good), 0o600))
		w.cfg.Accounts[0].Token, w.cfg.Accounts[0].TokenFile = "", file
	}
	story(t, fromFile, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.NoError(t, os.WriteFile(file, []byte("revoked-0123"), 0o600))
		w.message("#waf", "WAF API unreachable: wafbot can't see acme", "the service refuses the token", "read by itself")
		w.types("rob", "deny "+attacker+" attack="+card.id())
		w.message("#waf", "WAF permission lost")
		require.NoError(t, os.WriteFile(file, []byte(good+"\n"), 0o600))
		w.message("#waf", "wafbot couldn't see acme", "It sees again")
		card.says("[Deny " + attacker + "]")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.message("#waf", "wafbot can change acme again")
	})
}
