package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

const testCard = "Test card: nothing happened"

func TestADrillInSlack(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.types("vic", "drill")
		w.ephemeral("vic", "drill needs the role responder")
		w.types("ann", "drill")
		w.ephemeral("ann", "Drill begun, with 1 test card")
		card := w.message("#waf", testCard, "Anna Weber tests whether cards are seen here")
		w.click("rob", card, "Acknowledge")
		w.ephemeral("rob", "Thank you: acknowledged after")
		report := w.message("#waf", "Drill of acme, asked for by Anna Weber", "acknowledged by Rob Diaz after", "Not tried: denying and undoing", "no route has one")
		require.Equal(t, card.TS, report.ThreadTS)
		require.False(t, report.Broadcast)
		shown := w.message("#waf", testCard, "Acknowledged by Rob Diaz after")
		require.Equal(t, card.TS, shown.TS, "one card")
		w.types("ann", "attacks --all")
		w.ephemeral("ann", "0 attacks")
		require.Empty(t, w.sent())
		require.True(t, w.journal.has(`"audit"`, "drill ack=d", `"outcome":"done"`, "U0ROB0002"))
	})
}

// A test card goes to each route's channel, with its mention. The replica that posted them is gone when they are acknowledged.
func TestADrillAcrossARestart(t *testing.T) {
	several := func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Match: incidents(), Channel: "C0RANDOM3", Mention: "U0ANN0001"}, {}, {}}
	}
	story(t, several, func(t *testing.T, w *world) {
		w.types("ann", "drill")
		w.ephemeral("ann", "Drill begun, with 2 test cards")
		first := w.message("#random", testCard)
		second := w.message("#waf", testCard)
		w.stop()
		w.start()
		w.click("rob", second, "Acknowledge")
		w.message("#waf", testCard, "Acknowledged by Rob Diaz after")
		w.click("ann", first, "Acknowledge")
		w.message("#random", testCard, "Acknowledged by Anna Weber after")
		report := w.message("#random", "Drill of acme", "acknowledged by Anna Weber after", "acknowledged by Rob Diaz after")
		require.Equal(t, first.TS, report.ThreadTS)
		require.Len(t, w.shown("#random"), 1, "one card, with its report in the thread")
	})
}

func TestADrillFromTheTerminal(t *testing.T) {
	alone := func(w *world) {
		none := w.atShell("drill")
		require.Equal(t, exitFailed, none.code)
		require.Contains(t, none.err, "No wafbot serve is running on this Redis")
	}
	story(t, alone, func(t *testing.T, w *world) {
		begun := w.atShell("drill")
		require.Equal(t, exitDone, begun.code, begun.err)
		require.Contains(t, begun.out, "test card")
		w.message("#waf", testCard)
		waits := w.atShell("drill", "--json")
		require.Equal(t, exitDone, waits.code, waits.err)
		require.Contains(t, waits.out, "nobody has acknowledged it yet")
	})
}

// page=yes calls the pager for real. Who acknowledges there acknowledges the card.
func TestADrillThatPages(t *testing.T) {
	var p *pagerDuty
	story(t, func(w *world) { p = newPagerDuty(w) }, func(t *testing.T, w *world) {
		w.types("ann", "drill page=yes")
		action, key := p.next()
		require.Equal(t, "trigger", action)
		w.message("#waf", testCard, "Press Acknowledge")
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01BTA", "incident.acknowledged", key), pagerSecret))
		action, ended := p.next()
		require.Equal(t, []string{"resolve", key}, []string{action, ended})
		w.message("#waf", testCard, "Acknowledged by PagerDuty: Tenex")
		w.message("#waf", "Drill of acme", "its pager is called: acknowledged by PagerDuty: Tenex")
	})
}
