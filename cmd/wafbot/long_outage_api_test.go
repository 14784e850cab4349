package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// count is how many messages of a channel say all the parts.
func (w *world) count(channel string, parts ...string) (n int) {
	for _, m := range w.Slack.Messages(channel) {
		if says(m, parts...) {
			n++
		}
	}
	return n
}

func TestOneAccountIsUnreachableForAWhile(t *testing.T) {
	full.Only(t) // it is half a minute until that is said
	oneAccountFails(t, "reset", "the service can't be reached", "can't be reached")
}

func TestOneAccountIsRefusedForAWhile(t *testing.T) {
	oneAccountFails(t, "status:403", "the token lacks the permission to read", "doesn't allow this to wafbot's token")
}

func TestTheTokenOfOneAccountIsRefusedForAWhile(t *testing.T) {
	oneAccountFails(t, "unauthenticated", "the service refuses the token", "doesn't accept wafbot's token")
}

// oneAccountFails is the story of an account whose service is away, or refuses: its channel is notified once, the other account goes on, and afterwards one
// message says what happened meanwhile.
func oneAccountFails(t *testing.T, kind, why, said string) {
	t.Helper()
	both := func(w *world) {
		bothAccounts(w)
		w.cfg.Accounts[0].OngoingFor = 2 * time.Second
	}
	story(t, both, func(t *testing.T, w *world) {
		w.attack(injection())
		before := w.card("/login")
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: kind}))
		notice := w.message("#waf", "WAF API unreachable: wafbot can't see acme", why, "Attacks may go on unseen", "Last good poll")
		require.True(t, strings.HasPrefix(notice.Text, "WAF API unreachable: wafbot can't see acme since "), notice.Text)
		over := w.attack(waf.AttackSpec{Path: "/over", Hits: 100})
		worked := w.attack(waf.AttackSpec{Path: "/worked", Hits: 100, Vulnerability: sqlHole()})
		w.attack(waf.AttackSpec{Path: "/on", Hits: 100})
		require.NoError(t, w.WAF.StopAttack(over))
		require.NoError(t, w.WAF.StopAttack(worked))
		w.attack(stuffing())
		globex := w.cardIn("#waf-globex", "/signin")
		globex.click("rob", "Deny "+attacker)
		globex.says("Deny "+attacker+" · ", "Rob Diaz")
		w.typesIn("#waf-globex", "vic", "status")
		w.ephemeral("vic", "Status of globex", "Going on: 1 attack")
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"acme":{"failing":"`+why)
		require.True(t, w.journal.has("polling fails", "account=acme", why))
		w.types("rob", "status")
		w.ephemeral("rob", "acme: what goes on is unknown", said, "WAF API unreachable: "+why)
		w.polls(5) // one a second while it is unreachable
		require.Equal(t, 1, w.count("#waf", "wafbot can't see acme"), "not one a poll")
		require.Zero(t, w.count("#waf-globex", "WAF API unreachable"))

		w.WAF.ClearFaults()
		gap := w.message("#waf", "wafbot couldn't see acme", why, "It sees again")
		require.True(t, says(gap, "Began meanwhile, and have cards of their own: 2", "INCIDENT SQL injection", "/worked", "/on"), gap.Plain())
		require.True(t, says(gap, "Over again, and listed here only: 1", "/over"), gap.Plain())
		w.card("/worked", "critical incident").says("ENDED")
		w.card("/on")
		before.says("Unacknowledged")
		w.click("vic", gap, "List all")
		w.ephemeral("vic", "acme: 4 attacks", "/over")
		w.polls(6)
		require.Empty(t, w.cards("#waf", "/over"))
		require.Equal(t, 3, len(w.cards("#waf")))
		require.Equal(t, 6, len(w.Slack.Messages("#waf")), "one notice and one message of the gap")
		require.NoError(t, w.WAF.AddHits(over, 10))
		w.card("/over")
	})
}

// A service that takes requests and never answers delays no answer about another account.
func TestOneAccountHangs(t *testing.T) {
	overOne(t, workspace.IngressHTTP, bothAccounts, func(t *testing.T, w *world) {
		w.attack(injection())
		acme := w.card("/login")
		w.types("rob", "mode Shop block for=1s")
		w.confirms("rob", "Before you do")
		w.ephemeral("rob", "Switch Shop to block for 1 s", "accepted")
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "hang"}))
		acme.click("rob", "Deny "+attacker) // hangs, too

		w.attack(stuffing())
		globex := w.cardIn("#waf-globex", "/signin")
		globex.click("rob", "Deny "+attacker)
		globex.says("Deny "+attacker+" · ", "Rob Diaz")
		w.typesIn("#waf-globex", "ann", "mode Portal monitoring for=1s")
		w.confirms("ann", "Before you do")
		w.message("#waf-globex", "Switch Portal to monitoring for 1 s")
		w.message("#waf-globex", "Undo of: Switch Portal to monitoring for 1 s")
		w.typesIn("#random", "vic", "explain attack="+globex.id())
		w.ephemeral("vic", globex.id(), "Its card is in channel")
		w.typesIn("#random", "vic", "status")
		w.ephemeral("vic", "Going on: 1 attack", "acme: what goes on is unknown", "can't be reached")
		w.typesIn("#random", "vic", "attacks")
		w.ephemeral("vic", "globex: 2 attacks", "acme: unknown", "can't be reached")
		w.WAF.ClearFaults()
	})
}
