package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func withApprovers(w *world) {
	w.cfg.Policy.Approval.Approvers = "U0ANN0001"
}

// asked is the card of a request, by what it says.
func (w *world) asked(parts ...string) shownCard {
	w.t.Helper()
	return w.follow(w.message("#waf", append(parts, "APPROVAL NEEDED")...))
}

// requestIn is the id of the request that a text names.
func requestIn(text string) string {
	return regexp.MustCompile(`\br[0-9a-hjkmnp-tv-z]{8}\b`).FindString(text)
}

// What one person may not waits under the attack's card. Who asked can't approve, another one can, once, and only what the card shows.
func TestApproval(t *testing.T) {
	story(t, withApprovers, func(t *testing.T, w *world) {
		w.attack(injection())
		attack := w.card(attacker)
		w.types("rob", "deny country:FR for=2h reason=\"all of it comes from there\" attack="+attack.id())
		w.ephemeral("rob", "Waiting for approval: Deny country:FR everywhere for 2 h", "Any responder but Rob Diaz may approve it")
		request := w.asked("Deny country:FR everywhere for 2 h", "Rob Diaz asks: all of it comes from there", "wafbot sees attacks, never visitors", "<@U0ANN0001>")
		require.Equal(t, attack.ts, request.now().ThreadTS, "in the attack's thread, and in the channel")
		require.Equal(t, []string{"Approve", "Reject"}, request.labels())
		w.types("rob", "deny country:FR for=2h attack="+attack.id())
		w.ephemeral("rob", "asked already by Rob Diaz")
		request.click("rob", "Approve")
		w.ephemeral("rob", "you asked for this yourself")
		request.click("vic", "Approve")
		w.ephemeral("vic", "approve needs the role responder")
		require.Empty(t, w.sent())

		id := requestIn(plain(request.now()))
		request.click("ann", "Approve")
		w.ephemeral("ann", "approved by Anna Weber", "Deny country:FR everywhere for 2 h: accepted", "by Rob Diaz, approved by Anna Weber")
		request.says("approved by Anna Weber", "done")
		require.Empty(t, request.labels())
		attack.says("Deny country:FR · ", "Rob Diaz", "<@U0ROB0002> is on it")
		w.until("who asked is called", func() bool { return len(attack.replies("<@U0ROB0002> Deny country:FR", "approved by Anna Weber")) == 1 })
		w.types("ann", "approve "+id)
		w.ephemeral("ann", "Refused: ", "approved by Anna Weber")
		require.Len(t, w.sent(), 1)
		require.True(t, w.journal.has(`"outcome":"approved"`, "U0ANN0001"))
		require.True(t, w.journal.has(`"outcome":"done"`, `"approved":{"id":"U0ANN0001"`))

		w.types("rob", "deny 198.18.0.0/20")
		wide := w.asked("Deny 198.18.0.0/20", "198.18.0.0/20 is 4,096 addresses, everywhere", "wider than /24")
		_, err := w.WAF.SeedIPRule("acme", waf.IPRule{Subnet: "198.18.0.0/20", ExpiredAt: time.Now().Add(time.Hour).Unix()})
		require.NoError(t, err)
		wide.click("ann", "Approve")
		w.ephemeral("ann", "Refused: what was asked for is no longer what it was", "which it would overwrite")
		wide.says("closed", "nothing was done", "which it would overwrite", "Ask again: deny 198.18.0.0/20")
		w.until("who asked is called", func() bool { return len(wide.replies("<@U0ROB0002>", "closed")) == 1 })

		w.types("ann", "mode Shop off")
		w.confirms("ann", "It needs approval first: mode off lets everything through")
		off := w.asked("Switch Shop to off for 30 min", "milder than now")
		off.click("rob", "Reject")
		w.ephemeral("rob", "reject r", "needs the role admin")

		// Asked at the terminal, its card is posted by the bot that runs.
		got := typed(t, w.shell("[broad]", record.Responder), "deny", "country:DE", "-y")
		require.Equal(t, exitFailed, got.code, "%+v", got)
		shell := w.asked("Deny country:DE", osActor().Name+" asks at the terminal")
		require.Equal(t, "approve "+requestIn(got.out)+" account=acme", shell.now().Buttons()[0].Value)
		shell.click("rob", "Approve")
		w.ephemeral("rob", "approve r", "needs the role admin") // Rob might be the one at the terminal
		shell.click("ann", "Reject")
		shell.says("rejected by Anna Weber")
		require.Len(t, w.sent(), 1)
	})
}

// Without an answer the requester may override after a while, which is posted.
func TestOverrideWithoutAnAnswer(t *testing.T) {
	soon := func(w *world) {
		withApprovers(w)
		w.cfg.Policy.Approval.OverrideAfter = 10 * time.Second
	}
	story(t, soon, func(t *testing.T, w *world) {
		w.types("rob", "deny country:FR")
		request := w.asked("Deny country:FR", "Rob Diaz may override from")
		id := requestIn(plain(request.now()))
		w.types("rob", "override "+id+` reason="no answer, shop is down"`)
		w.ephemeral("rob", "an approver may answer yet")
		w.until("the way out", func() bool { return len(request.labels()) == 3 })
		require.Equal(t, []string{"Approve", "Reject", "Override…"}, request.labels())
		w.types("ann", "override "+id+` reason="no answer, shop is down"`)
		w.ephemeral("ann", "only Rob Diaz, who asked, may override")
		open := func() { request.opens("rob", "Override…", "Deny country:FR", "for 1 h at most") }
		open()
		require.Contains(t, w.checked("rob", open, map[string]any{"reason": "I want to"}).Errors["Why it can't wait"], "at least 10 characters")
		w.submits("rob", map[string]any{"reason": "no answer, shop is down"})
		w.ephemeral("rob", "override", "Deny country:FR everywhere for 1 h: accepted")
		w.message("#waf", "<@U0ANN0001> Rob Diaz used OVERRIDE", "no answer, shop is down")
		w.message("#waf", "Deny country:FR everywhere for 1 h · Rob Diaz, override")
		request.says("override, without approval", "no answer, shop is down")
		require.True(t, w.journal.has(`"outcome":"overridden"`, "U0ROB0002", "no answer, shop is down"))
		require.Len(t, w.sent(), 1)
	})
}

// A request that stays without an answer expires, on whichever replica sees that.
func TestARequestExpires(t *testing.T) {
	short := func(w *world) {
		withApprovers(w)
		w.cfg.Policy.Approval.Timeout, w.cfg.Policy.Approval.OverrideAfter = 5*time.Second, 4*time.Second
	}
	story(t, short, func(t *testing.T, w *world) {
		w.types("rob", "deny country:DE")
		request := w.asked("Deny country:DE")
		w.stop()
		w.start()
		request.says("no answer", "nothing was done")
		require.Empty(t, request.labels())
		w.until("who asked is called", func() bool { return len(request.replies("<@U0ROB0002>", "no answer")) == 1 })
		require.True(t, w.journal.has(`"outcome":"expired"`))
	})
}
