package main

import (
	"net/http"
	"os"
	"path/filepath"
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

// emptyRedis empties Redis, under a running bot or while it is down, and waits until all accounts' states have begun
// again.
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

// Threads are read at Slack's pace, which takes an hour where there are thousands: people learn of a new incident
// meanwhile.
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
		w.types("rob", "ack attack="+card.id()) // the same
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

// oneAccountFails is the story of an account whose service is away, or refuses: its channel is notified once, the other
// account works, and afterwards one message says what happened meanwhile.
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

// briefly lets Slack refuse calls, and attacks be over two seconds after their last hit.
func briefly(w *world) {
	rough(w)
	w.cfg.Accounts[0].OngoingFor = 2 * time.Second
	orderly(w)
}

// While Slack is away much happens; what comes afterwards is one card an attack, incidents first, with the newest
// figures.
func TestSlackIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	for _, kind := range full.Some(2, []string{"500", "500_posted", "ratelimited", "token_revoked"}) {
		t.Run(kind, func(t *testing.T) {
			overOne(t, workspace.IngressHTTP, briefly, func(t *testing.T, w *world) {
				method := ""
				if kind == "500_posted" {
					method = "chat.postMessage"
				}
				w.Slack.SetFault(workspace.Fault{Method: "conversations.history", Kind: "500"})
				w.Slack.SetFault(workspace.Fault{Method: method, Kind: kind})
				other := w.attack(waf.AttackSpec{Path: "/other", Hits: 100, Started: waf.Duration(time.Minute)})
				w.until("the first is not posted", func() bool { return w.journal.has("notify event", `kind="new attack"`) })
				login := w.attack(injection())
				w.polls(2)
				require.NoError(t, w.WAF.AddHits(login, 10_000))
				w.polls(2)
				require.NoError(t, w.WAF.MakeIncident(login, *sqlHole()))
				require.NoError(t, w.WAF.StopAttack(other))
				w.polls(12) // three seconds: it is over
				posted := len(w.Slack.Messages("#waf"))
				w.stop()
				w.start() // another replica continues
				w.polls(2)
				w.Slack.ClearFaults()

				card := w.card("/login", "critical incident", "exploit")
				require.Regexp(t, `1\d,\d\d\d hits`, card.now().Plain(), "the newest figures")
				over := w.card("/other")
				over.says("ENDED")
				if posted == 1 { // nothing was posted while Slack said that it wasn't
					require.Less(t, card.ts, over.ts, "incidents first")
				}
				w.polls(8)
				require.Equal(t, 1, len(w.cards("#waf", "/login")))
				require.Equal(t, 1, len(w.cards("#waf", "/other")))
				if posted == 1 { // else a card was posted before its attack changed, and its thread may say that
					require.LessOrEqual(t, len(over.replies()), len(over.replies("Quiet")), "a slow machine begins its card before it is over; its end is told then: %s", w.all())
					require.Zero(t, len(card.replies()), "the card says it: %s", w.all())
				}
				require.Len(t, w.Slack.Messages("#waf"), 3+len(card.replies())+len(over.replies()))
			})
		})
	}
}

// A card that is there when the channel is cut off: afterwards one reply says the newest, and the worst.
func TestSlackIsAwayWhileACardIsThere(t *testing.T) {
	overOne(t, workspace.IngressHTTP, rough, func(t *testing.T, w *world) {
		login := w.attack(injection())
		card := w.card("/login")
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		require.NoError(t, w.WAF.AddHits(login, 20_000))
		w.until("it got worse", func() bool { return w.journal.has("notify event", "kind=worsened") })
		require.NoError(t, w.WAF.MakeIncident(login, *sqlHole()))
		w.polls(4)
		w.Slack.ClearFaults()
		card.says("critical incident")
		w.until("a reply", func() bool { return len(card.replies()) > 0 })
		w.until("nothing is left to post", func() bool { return w.journal.has("the card or another reply says it", "kind=worsened") })
		w.polls(4)
		require.Len(t, card.replies(), 1)
		require.Len(t, card.replies("INCIDENT now", "20,"), 1, card.replies()[0].Plain())
		require.Len(t, w.cards("#waf"), 1)
	})
}

// With Slack away every line works at the terminal, with the same roles, guards, second person and audit; the cards
// catch up.
func TestSlackIsAwayAndTheTerminalIsUsed(t *testing.T) {
	name := osActor().Name
	prepare := func(w *world) {
		rough(w)
		w.cfg.Policy.Terminal = map[string]config.TerminalUser{name: {Role: "responder"}}
	}
	overOne(t, workspace.IngressHTTP, prepare, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		got := w.atShell("deny", "attack="+card.id(), "for=1h", "-y")
		require.Equal(t, exitDone, got.code, "%+v", got)
		require.Contains(t, got.out, "Deny "+attacker+" everywhere for 1 h: accepted")
		got = w.atShell("allow", "198.51.100.9", "-y")
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.err, "allow needs the role admin; yours is responder")
		got = w.atShell("deny", "10.0.0.1", "-y")
		require.Contains(t, got.err, "private addresses")
		got = typed(t, w.shell("[broad]", record.Responder), "deny", "country:FR", "attack="+card.id(), "-y", "--json")
		require.Equal(t, exitFailed, got.code)
		waiting := decode[result](t, got.out)
		require.Equal(t, "waiting", waiting.Outcome)
		got = w.atShell("note", "Slack is down, we talk on the phone", "attack="+card.id())
		require.Equal(t, exitDone, got.code, "%+v", got)
		got = w.atShell("status")
		require.Contains(t, got.out, name+" is on it since")
		require.Contains(t, got.out, "Deny "+attacker+" everywhere for 1 h")
		require.Len(t, w.entries("acme"), 1)

		w.Slack.ClearFaults()
		card.says("Deny "+attacker+" · ", name, name+" is on it", "under Details")
		request := w.message("#waf", "APPROVAL NEEDED: Deny country:FR everywhere for 4 h")
		w.click("ann", request, "Approve") // an admin: who is at the terminal is no one that Slack knows
		w.until("approved", func() bool { return len(w.entries("acme")) == 2 })
		got = w.atShell("undo", "attack="+card.id(), "-y")
		require.Equal(t, exitDone, got.code, "%+v", got)
		require.Empty(t, w.entries("acme"))
		w.until("the card says it", func() bool { return len(card.replies("Undo of: ", name)) == 2 })
	})
}

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
