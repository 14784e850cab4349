package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// begins waits until so many memories have begun since the bot was first started.
func (w *world) begins(times int) {
	w.t.Helper()
	w.until("memory begins", func() bool { return strings.Count(w.journal.String(), "the account's memory begins") >= times })
}

// emptyRedis empties Redis, under a running bot or while it is down, and waits until all accounts' memories have begun anew.
func (w *world) emptyRedis(running bool) {
	w.t.Helper()
	begun := strings.Count(w.journal.String(), "the account's memory begins")
	if running {
		w.redis.empty(w.t)
	} else {
		w.stop()
		w.redis.empty(w.t)
		w.start()
	}
	w.begins(begun + len(w.cfg.Accounts))
}

// runningOrNot plays a story in which Redis is emptied under a running bot, and again while the bot is down.
func runningOrNot(t *testing.T, prepare func(*world), play func(t *testing.T, w *world, running bool)) {
	t.Helper()
	t.Parallel()
	lost := func(w *world) {
		rough(w) // the pace is forgotten too, so Slack may say that it is too much
		prepare(w)
	}
	for name, running := range map[string]bool{"running": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			storyOver(t, []workspace.Ingress{workspace.IngressEither}, lost, func(t *testing.T, w *world) { play(t, w, running) })
		})
	}
}

// on is an attack on a path by a source of its own, with hits enough for a card.
func on(path, source string) waf.AttackSpec {
	return waf.AttackSpec{Path: path, Hits: 100, Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: source, PerSecond: 2}}}
}

// over is an attack that ended hours ago.
func over(spec waf.AttackSpec) waf.AttackSpec {
	spec.Started, spec.Lasts = waf.Duration(5*time.Hour), waf.Duration(time.Hour)
	return spec
}

// worked is an attack that is an incident.
func worked(spec waf.AttackSpec) waf.AttackSpec {
	spec.Vulnerability = sqlHole()
	return spec
}

func TestRedisEmptied(t *testing.T) {
	seeded := func(w *world) {
		_, err := w.WAF.SeedIPRule("acme", waf.IPRule{RuleType: "ip_range", Subnet: "198.51.100.77/32", Reason: "by hand", ExpiredAt: time.Now().Add(time.Hour).Unix()})
		require.NoError(w.t, err)
		w.attack(over(on("/before", "198.51.100.201")))
	}
	runningOrNot(t, seeded, func(t *testing.T, w *world, running bool) {
		w.attack(injection())
		w.attack(worked(on("/worked", "198.51.100.202")))
		w.attack(over(on("/over", "198.51.100.203")))
		card := w.card(attacker)
		w.card("INCIDENT", "/worked")
		w.card("/over")

		card.click("rob", "Deny only")
		w.types("rob", "patch attack="+card.id())
		card.says("Deny "+attacker, "Patch exactly", "Rob Diaz is on it")
		w.types("rob", "deny 198.51.100.77")
		longer := changeIn(plain(w.message("#waf", "Deny 198.51.100.77 everywhere for 4 h · Rob Diaz")))
		w.types("rob", "mode Shop block for=10s")
		w.click("rob", w.told("rob", "Before you do"), "Do it anyway")
		w.message("#waf", "Switch Shop to block for 10 s · Rob Diaz")
		w.until("all is told", func() bool { return len(card.replies("Deny "+attacker)) == 1 && len(card.replies("Patch exactly")) == 1 })
		told := len(w.shown("#waf"))

		w.emptyRedis(running)
		notice := w.message("#waf", "acme: wafbot's memory (Redis) was emptied", "3 cards", "in force with their ends and undo", "Lost", "who was on what")
		require.False(t, says(notice, "no message told of them"))
		w.until("claims are lost", func() bool { return !says(card.now(), "Rob Diaz is on it") })
		card.says("Deny "+attacker+" everywhere for 4 h · Rob Diaz", "Patch exactly")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 3, "no card comes twice")
		require.Empty(t, w.cards("#waf", "/before"), "what was over before the first start stays untold")

		w.types("vic", "status")
		w.told("vic", "In force by wafbot", "Deny 198.51.100.77", "Deny "+attacker, "Patch exactly")
		w.types("rob", "deny "+attacker)
		w.told("rob", "Deny "+attacker, "done already by Rob Diaz")
		card.undo("ann", "Deny "+attacker)
		card.says("taken back by Anna Weber")
		card.undo("ann", "Patch exactly")
		w.until("no patch", func() bool { return len(w.rules("acme", "vpatch")) == 0 })
		w.types("rob", "undo "+longer)
		w.told("rob", "Undo of: Deny 198.51.100.77")
		require.Len(t, w.entries("acme"), 1)
		require.Equal(t, "by hand", w.entries("acme")[0].Reason, "what stood there before is back")
		w.until("the mode returns by itself", func() bool { return len(w.modeRules()) == 1 && w.modeRules()[0] == "monitoring" })
		w.message("#waf", "Undo of: Switch Shop to block for 10 s", "wafbot")
		w.attack(on("/new", "198.51.100.204"))
		w.card("/new")
		require.Len(t, w.shown("#waf"), told+4, "the notice, both undoes without a card, and the new card")
	})
}
