package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// begins waits until so many states have begun since the bot was first started.
func (w *world) begins(times int) {
	w.t.Helper()
	w.until("state begins", func() bool { return strings.Count(w.journal.String(), "the account's state begins") >= times })
}

// emptyRedis empties Redis, under a running bot or while it is down, and waits until all accounts' states have begun again.
func (w *world) emptyRedis(running bool) {
	w.t.Helper()
	begun := strings.Count(w.journal.String(), "the account's state begins")
	if running {
		w.redis.empty(w.t)
	} else {
		w.stop()
		w.redis.empty(w.t)
		w.start()
	}
	w.begins(begun + len(w.cfg.Accounts))
}

// runningOrNot plays a story in which Redis is emptied under a running bot, and again while the bot is down; in make
// test only one of these ways, if one is named.
func runningOrNot(t *testing.T, only string, prepare func(*world), play func(t *testing.T, w *world, running bool)) {
	t.Helper()
	t.Parallel()
	lost := func(w *world) {
		rough(w) // the pace is lost too, so Slack may say that it is too much
		prepare(w)
	}
	for name, running := range map[string]bool{"running": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			if only != "" && name != only {
				full.Only(t)
			}
			story(t, lost, func(t *testing.T, w *world) { play(t, w, running) })
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
	runningOrNot(t, "", seeded, func(t *testing.T, w *world, running bool) {
		w.attack(injection())
		w.attack(worked(on("/worked", "198.51.100.202")))
		w.attack(over(on("/over", "198.51.100.203")))
		card := w.card(attacker)
		w.card("critical incident", "/worked")
		w.card("/over")

		card.click("rob", "Deny "+attacker)
		w.types("rob", "patch attack="+card.id())
		card.says("Deny "+attacker, "Patch POST shop.example.com/login", "<@U0ROB0002> is on it")
		w.types("rob", "deny 198.51.100.77")
		longer := changeIn(plain(w.message("#waf", "Deny 198.51.100.77 everywhere for 4 h · Rob Diaz")))
		w.types("rob", "mode Shop block for=10s")
		w.confirms("rob", "Before you do")
		w.message("#waf", "Switch Shop to block for 10 s · Rob Diaz")
		w.until("all is posted", func() bool {
			return len(card.replies("Deny "+attacker)) == 1 && len(card.replies("Patch exactly")) == 1
		})
		shown, delivery := len(w.shown("#waf")), factsOf(card.now()).Payload.Delivery

		w.emptyRedis(running)
		notice := w.message("#waf", "acme: wafbot's store (Redis) was emptied", "3 cards", "in force with their ends and undo", "Lost", "requests that waited for approval", "who was on what")
		require.False(t, says(notice, "no message named them"))
		w.until("claims are lost", func() bool { return !says(card.now(), "<@U0ROB0002> is on it") })
		card.says("Deny "+attacker+" · ", "Rob Diaz", "Patch POST shop.example.com/login")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 3, "no card comes twice")
		require.Len(t, delivery, 32)
		require.Equal(t, delivery, factsOf(card.now()).Payload.Delivery, "it is the same card, however often it is drawn")
		require.Empty(t, w.cards("#waf", "/before"), "what was over before the first start stays untold")

		w.types("vic", "status")
		w.ephemeral("vic", "In force by wafbot", "Deny 198.51.100.77", "Deny "+attacker, "Patch exactly")
		w.types("rob", "deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker, "done already by Rob Diaz")
		card.undo("ann", "Deny "+attacker)
		card.undone("Anna Weber")
		card.undo("ann", "Patch exactly")
		w.until("no patch", func() bool { return len(w.rules("acme", "vpatch")) == 0 })
		w.types("rob", "undo "+longer)
		w.ephemeral("rob", "Undo of: Deny 198.51.100.77")
		require.Len(t, w.entries("acme"), 1)
		require.Equal(t, "by hand", w.entries("acme")[0].Reason, "what stood there before is back")
		w.until("the mode returns by itself", func() bool { return len(w.modeRules()) == 1 && w.modeRules()[0] == "monitoring" })
		w.message("#waf", "Undo of: Switch Shop to block for 10 s", "wafbot")
		w.attack(on("/new", "198.51.100.204"))
		w.card("/new")
		require.Len(t, w.shown("#waf"), shown+4, "the notice, both undoes without a card, and the new card")
	})
}

func TestWhatIsAskedWhileTheStateIsRebuilt(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("/login")
		card.known()
		w.Slack.SetFault(workspace.Fault{Method: "conversations.history", Kind: "ratelimited"})
		w.redis.empty(t)
		w.until("read back", func() bool { return w.journal.has("read back from slack", "rate limit") })

		w.attack(on("/meanwhile", "198.51.100.201"))
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "not done: wafbot's store (Redis) is empty", "being rebuilt from the channels")
		w.types("rob", "note attack="+card.id()+" seen")
		w.ephemeral("rob", "not done: wafbot's store (Redis) is empty")
		w.types("vic", "status")
		w.ephemeral("vic", "What is in force is unknown: wafbot's store (Redis) is empty")
		require.Empty(t, w.sent())
		require.Len(t, w.shown("#waf"), 2, "nothing is posted")

		w.Slack.ClearFaults()
		w.card("/meanwhile")
		w.message("#waf", "acme: wafbot's store (Redis) was emptied")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.shown("#waf"), 4, "the notice, and what came meanwhile")
	})
}

// Threads are read at Slack's pace, which takes an hour where there are thousands: people learn of a new incident meanwhile.
func TestANewIncidentWhileThreadsAreRead(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("/login")
		card.click("rob", "Deny "+attacker)
		w.until("posted", func() bool { return len(card.replies("Deny "+attacker)) == 1 })
		card.says("Deny " + attacker)
		w.Slack.SetFault(workspace.Fault{Method: "conversations.replies", Kind: "ratelimited"})
		w.redis.empty(t)
		w.until("the threads' turn", func() bool { return w.journal.has("read back from slack", "rate limit") })

		w.attack(worked(on("/meanwhile", "198.51.100.201")))
		w.card("critical incident", "/meanwhile")
		w.polls(2)
		_, ready := w.get("/readyz")
		require.Contains(t, ready, `"rebuilding":"0 of 1 threads read; nothing is changed until all are"`)
		require.NotContains(t, ready, "elsewhere")
		card.says("Deny " + attacker) // it isn't drawn without what the thread holds
		w.types("rob", "undo attack="+card.id())
		w.ephemeral("rob", "not done: wafbot's store (Redis) is empty", "being rebuilt from the channels")
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.cards("#waf"), 2)

		w.Slack.ClearFaults()
		w.message("#waf", "acme: wafbot's store (Redis) was emptied", "1 card, 1 mitigation in force")
		w.types("ann", "ack attack="+card.id()) // where no one is on it, Acknowledge takes the room of Undo
		card.undo("ann", "Deny "+attacker)
		card.undone("Anna Weber")
		require.Len(t, w.cards("#waf"), 2)
		_, ready = w.get("/readyz")
		require.NotContains(t, ready, "rebuilding")
	})
}

func TestNoSummaryTwiceAfterRedisWasEmptied(t *testing.T) {
	due := func(w *world) {
		rough(w)
		w.cfg.Accounts[0].Summary.At = time.Now().Add(-5 * time.Minute).In(w.cfg.Timezone).Format("15:04")
	}
	story(t, due, func(t *testing.T, w *world) {
		w.message("#waf", "Hand-over of acme")
		w.emptyRedis(true)
		w.attack(on("/after", "198.51.100.201"))
		w.card("/after")
		w.polls(2)
		require.Equal(t, 1, strings.Count(w.texts("#waf"), "Hand-over of acme"))
	})
}

// A change that no message holds when Redis is emptied is on the service's lists, with its id.
func TestAMitigationThatNoMessageHolds(t *testing.T) {
	runningOrNot(t, "down", asItIs, func(t *testing.T, w *world, running bool) {
		w.attack(injection())
		card := w.card("/login")
		card.known()
		w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "service_unavailable"})
		w.Slack.SetFault(workspace.Fault{Method: "chat.update", Kind: "service_unavailable"})
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "accepted by the service")
		if !running {
			w.stop() // before its last words
		}
		w.redis.empty(t)
		if !running {
			w.start()
		}
		w.begins(2)
		w.Slack.ClearFaults()
		w.message("#waf", "acme: wafbot's store (Redis) was emptied", "1 card, 0 mitigations", "no message names them: 1 mitigation")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.types("rob", "ack attack="+card.id()) // likewise
		card.undo("ann", "Deny "+attacker)
		card.undone("Anna Weber")
		require.Empty(t, w.entries("acme"))
		require.Len(t, w.cards("#waf"), 1)
	})
}

// Without the scope to look back everything may come twice, and nothing is lost.
func TestRedisEmptiedWithoutTheHistoryScope(t *testing.T) {
	unread := func(w *world) {
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Method: "conversations.history", Kind: "missing_scope"})
	}
	story(t, unread, func(t *testing.T, w *world) {
		w.message("#waf", "acme: wafbot can't rebuild its state", "channels:history", "cards come again")
		w.attack(injection())
		w.card("/login")
		w.emptyRedis(true)
		w.until("it comes again", func() bool { return len(w.cards("#waf", "/login")) == 2 })
		card := w.cards("#waf", "/login")[1]
		w.click("rob", card, "Deny "+attacker)
		w.ephemeral("rob", "accepted by the service")
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.cards("#waf"), 2)
	})
}

func TestRedisEmptiedWithSeveralChannels(t *testing.T) {
	routed := func(w *world) {
		bothAccounts(w) // in one channel
		w.cfg.Accounts[1].Channel = w.cfg.Accounts[0].Channel
		w.cfg.Accounts[0].Routes = []config.Route{{Match: incidents(), Channel: "C0RANDOM3", Mention: "U0ANN0001"}, {Match: config.Match{MinHits: 30}}, {Channel: "C0BOARD04"}}
	}
	runningOrNot(t, "running", routed, func(t *testing.T, w *world, running bool) {
		w.attack(injection())
		w.attack(worked(on("/worked", "198.51.100.201")))
		w.attack(stuffing())
		acme, incident, globex := w.card("/login"), w.cardIn("#random", "/worked", "<@U0ANN0001>"), w.card("/signin")
		acme.click("rob", "Deny "+attacker)
		incident.click("rob", "Deny 198.51.100.201")
		incident.click("rob", "Patch")
		globex.click("rob", "Deny "+attacker)
		w.until("all is posted", func() bool {
			return len(acme.replies("Deny "+attacker)) == 1 && len(incident.replies("Patch exactly")) == 1 && len(incident.replies("Deny")) == 1 && len(globex.replies("Deny "+attacker)) == 1
		})

		w.emptyRedis(running)
		w.message("#waf", "acme: wafbot's store (Redis) was emptied", "1 card, 1 mitigation in force", "Could not be read", "C0BOARD04")
		w.message("#random", "acme: wafbot's store (Redis) was emptied", "1 card, 2 mitigations in force")
		w.message("#waf", "globex: wafbot's store (Redis) was emptied", "1 card, 1 mitigation in force")
		incident.says("<@U0ANN0001>", "Deny 198.51.100.201")
		globex.undo("ann", "Deny "+attacker)
		globex.undone("Anna Weber")
		require.Empty(t, w.entries("globex"))
		require.Len(t, w.entries("acme"), 2, "another account's")
		incident.undo("ann", "Patch exactly")
		incident.undone("Anna Weber")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 2)
		require.Len(t, w.cards("#random"), 1)
		for channel, notices := range map[string]int{"#waf": 2, "#random": 1, "#board": 0} {
			require.Equal(t, notices, strings.Count(w.texts(channel), "was emptied\n"), channel)
		}
	})
}

func TestALineAtTheTerminalRebuildsFirst(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("/login")
		card.click("rob", "Deny "+attacker)
		w.until("posted", func() bool { return len(card.replies("Deny "+attacker)) == 1 })
		w.stop()
		w.redis.empty(t)

		undo := changeIn(plain(card.replies("Deny " + attacker)[0]))
		got := runWith(t, terminal{environ: w.shell("[]", record.Responder), args: []string{"undo", undo, "-y"}, in: strings.NewReader(""), settle: settled})
		require.Equal(t, exitDone, got.code, "%s%s", got.out, got.err)
		require.Contains(t, got.out, "Undo of: Deny "+attacker)
		require.Empty(t, w.entries("acme"))

		w.start()
		card.undone(osActor().Name)
		w.message("#waf", "acme: wafbot's store (Redis) was emptied", "1 card, 1 mitigation")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 1)
		require.Equal(t, 1, strings.Count(w.texts("#waf"), "was emptied\n"))
	})
}

// texts are a channel's notification texts, one a line and paragraph.
func (w *world) texts(channel string) string {
	var b strings.Builder
	for _, m := range w.Slack.Messages(channel) {
		b.WriteString(strings.ReplaceAll(strings.SplitN(m.Text, ". ", 2)[0], "*", "") + "\n")
	}
	return b.String()
}
