package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// unlisted begins attacks of which no poll sees a few before it sees all. It clears all faults.
func (w *world) unlisted(begin func()) {
	w.t.Helper()
	require.NoError(w.t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "/v1/objects/attack", Kind: "status:503"}))
	begin()
	w.WAF.ClearFaults()
}

// scanned begins so many attacks of one source at once, and some incidents among them.
func (w *world) scanned(attacks, incidents int) {
	w.t.Helper()
	w.unlisted(func() { w.scans(attacks, incidents) })
}

func (w *world) scans(attacks, incidents int) {
	w.t.Helper()
	for i := range attacks + incidents {
		spec := waf.AttackSpec{Path: fmt.Sprintf("/scan/%d", i), Hits: 100, Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: loudest, Country: "NL", PerSecond: 0.1}}}
		if i%50 == 7 && incidents > 0 {
			spec.Path, spec.Vulnerability = fmt.Sprintf("/worked/%d", i), sqlHole()
			incidents--
		}
		w.attack(spec)
	}
	require.Zero(w.t, incidents)
}

// stormCard is the card of the storm, when it has grouped so many.
func (w *world) stormCard(grouped int, parts ...string) shownCard {
	w.t.Helper()
	c := w.card(" storm")
	c.says(append(parts, fmt.Sprintf("%d attacks", grouped))...)
	return c
}

// A hundred attacks at once, two of them incidents: three cards, the incidents' first.
func TestAStorm(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.scanned(98, 2)
		storm := w.stormCard(98, "98 of 98 NOT BLOCKED", loudest, "is in all of these 98")
		w.card("/worked/7", "critical incident")
		w.card("/worked/57", "critical incident")
		w.polls(4)
		all := w.cards("#waf")
		require.Len(t, all, 3)
		require.Empty(t, storm.replies())

		w.attack(injection())
		w.stormCard(99, "99 of 99 NOT BLOCKED", "is in 98 of these 99")
		storm.click("rob", "List the 99")
		w.ephemeral("rob", storm.id(), "POST shop.example.com/login")
		w.stop()
		w.start()
		w.polls(4)
		require.Len(t, w.cards("#waf"), 3)
	})
}

// What goes on when wafbot is started first is grouped, too, and its first message says so.
func TestFirstStartInAStorm(t *testing.T) {
	story(t, func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Mention: "U0ANN0001"}}
		w.scanned(30, 1)
	}, func(t *testing.T, w *world) {
		w.message("#waf", "wafbot watches acme", "31 going on (30 of them grouped in a storm's card, cards of the others follow, no one is mentioned)")
		w.stormCard(30)
		w.card("critical incident", "/worked/7")
		w.polls(4)
		require.Len(t, w.cards("#waf"), 2)
		for _, m := range w.cards("#waf") {
			require.False(t, says(m, "<@U0ANN0001>"), m.Plain())
		}
	})
}

// The card of a storm is all that is left of it when Redis was emptied: what goes on is taken for the storm's, so that
// no other card comes.
func TestRedisEmptiedInAStorm(t *testing.T) {
	runningOrNot(t, "down", asItIs, func(t *testing.T, w *world, running bool) {
		w.scanned(40, 1)
		storm := w.stormCard(40)
		w.card("critical incident", "/worked/7")
		id := storm.id()
		w.emptyRedis(running)
		w.polls(4)
		w.attack(injection())
		storm.says("41 attacks")
		require.Equal(t, id, storm.id())
		require.Len(t, w.cards("#waf"), 2)
	})
}

// One pager is called for all that a storm grouped.
func TestAStormCallsItsPagerOnce(t *testing.T) {
	story(t, paged(time.Second), func(t *testing.T, w *world) {
		h := w.hook
		w.scanned(20, 0)
		storm := w.stormCard(20)
		call := h.next()
		require.Equal(t, storm.id(), call.Attack)
		require.Contains(t, call.Text, "20 of 20 NOT BLOCKED, high storm on Shop: ")
		require.Contains(t, call.Text, loudest+" NL is in 20 of 20 attacks")
		storm.click("rob", "Acknowledge")
		require.Equal(t, call.ID, h.next().ID, "it is over")
		w.polls(4)
		require.Empty(t, h.got)
	})
}
