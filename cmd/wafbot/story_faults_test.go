package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// other is another replica, which takes work and never finishes any.
type other struct {
	inbox *store.Inbox
	took  chan string
	die   func()
}

// another starts another replica on the same Redis.
func (w *world) another() other {
	w.t.Helper()
	s, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	o := other{inbox: s.Inbox, took: make(chan string, 100)}
	var both sync.WaitGroup
	both.Go(func() { _ = s.Replicas.Beat(ctx) })
	both.Go(func() {
		_ = s.Inbox.Work(ctx, func(p *store.Piece) {
			o.took <- string(p.Work())
			logAs(w.journal, config.Log{}).Info("another replica takes work") // which wakes the story that waits for it
		})
	})
	o.die = sync.OnceFunc(func() {
		cancel()
		both.Wait()
		require.NoError(w.t, s.Close())
	})
	w.t.Cleanup(o.die)
	return o
}

// typed is a line of Rob's that Slack delivers to that replica, and not to the story's.
func (o other) typed(w *world, verb, object string) {
	w.t.Helper()
	rob := record.Actor{ID: "U0ROB0002", Team: "T0SANDBOX", Name: "rob", Via: record.ViaSlash}
	work, err := json.Marshal(map[string]any{
		"version": 1, "channel": w.cfg.Accounts[0].Channel,
		"invocation": call.Invocation{Line: record.Line{Name: verb, Words: []string{object}}, Actor: rob, ID: object, At: time.Now()},
	})
	require.NoError(w.t, err)
	fresh, waiting, err := o.inbox.Accept(w.t.Context(), work, record.Lane{Team: rob.Team, User: rob.ID}, object)
	require.NoError(w.t, err)
	require.True(w.t, fresh)
	require.Zero(w.t, waiting)
}

func TestARestart(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.types("rob", "mode Shop block for=1h")
		w.confirms("rob", "Before you do")
		mode := w.message("#waf", "Switch Shop to block for 1 h · Rob Diaz")
		posted := len(w.shown("#waf"))

		w.stop()
		w.start()
		w.polls(4)
		require.Len(t, w.shown("#waf"), posted, "nothing is posted twice")
		card.undo("ann", "Deny "+attacker)
		card.undone("Anna Weber")
		require.Empty(t, w.entries("acme"))
		w.click("ann", mode, "Undo")
		w.message("#waf", "Undo of: Switch Shop to block for 1 h", "Anna Weber")
		require.Equal(t, []string{"monitoring"}, w.modeRules())
	})
}

func TestWhatADeadReplicaHadInHand(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		o := w.another()
		asked := 0
		for ; len(o.took) == 0; asked++ { // until it works, the story's replica takes what it accepts
			address := fmt.Sprintf("198.51.100.%d", asked+1)
			o.typed(w, "deny", address)
			w.until("a replica takes it", func() bool {
				return len(o.took) > 0 || len(w.ephemerals("rob", address, "accepted by the service")) > 0
			})
		}
		require.Len(t, w.entries("acme"), asked-1)
		o.die()
		w.ephemeral("rob", fmt.Sprintf("198.51.100.%d", asked), "accepted by the service")
		require.Len(t, w.entries("acme"), asked)
		require.Len(t, w.sent(), asked, "each once")
	})
}

func TestACardWhoseRecordingGetsNoAnswer(t *testing.T) {
	lossy := func(w *world) {
		const where = "hset\r\n$14\r\n{a:acme}:cards" // of a card; twice, because the client itself tries again
		w.cfg.Redis.URL = apiclient.Secret(w.redis.losing(w.t, where, 2).url)
	}
	story(t, lossy, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.polls(8)
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.cards("#waf"), 1)
	})
}

// An older version's state is left as it is: this one says how to proceed and which mitigations are active, and
// ends.
func TestTheStateOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressHTTP)
	w.start()
	w.attack(injection())
	card := w.card(attacker)
	card.click("rob", "Deny "+attacker)
	card.says("Deny "+attacker+" · ", "Rob Diaz")
	w.stop()
	w.redis.does(t, "SET", "{work}:version", "1")
	w.start()
	err := <-w.ended
	require.ErrorContains(t, err, "redis holds the state of an older wafbot")
	require.ErrorContains(t, err, "FLUSHDB")
	require.True(t, w.journal.has("in force at the service", "account=acme", attacker))
	w.requireClean()
}

// A later version has been started: this one says so in one line and ends, whether it runs already or begins.
func TestTheStateOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		w := newWorld(t, aRedis(t), workspace.IngressHTTP)
		if running {
			w.start()
			w.message("#waf", "wafbot watches acme")
		}
		w.redis.does(t, "SET", "{work}:version", "99")
		if !running {
			w.start()
		}
		require.ErrorContains(t, <-w.ended, "redis holds the state of a newer wafbot: update this one, or take it out of service")
		w.attack(injection())
		require.LessOrEqual(t, len(w.Slack.Messages("#waf")), 1)
		w.requireClean()
	}
}

// While Redis is away each answer says what wafbot doesn't know and doesn't do. Afterwards everything works again.
func TestAnswersWhileRedisIsAway(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("/login")
		id := card.id()
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it")

		w.redis.away()
		const away, unknown = "wafbot's store (Redis) can't be reached", "unknown"
		for line, words := range map[string][]string{
			"deny 198.51.100.9":                     {"not done", away, "nothing is changed"},
			"undo":                                  {"not done", away},
			"mode Shop block":                       {"not done", away},
			"unack attack=" + id:                    {"not done", away},
			"note attack=" + id + " \"looks real\"": {"not done", away},
			"mute attack=" + id:                     {"not done", away},
			"status":                                {"Status of acme", "Going on: 1 attack", "What is in force is unknown", away, "nothing can be changed meanwhile"},
			"attack " + id:                          {"SQL injection · Shop", "Who is on it and what was done is unknown", away},
			"explain attack=" + id:                  {"It goes to channel", unknown, away},
			"attacks":                               {"acme: 1 attack"},
			"lists":                                 {"acme: 0 entries"},
			"rules":                                 {"acme: "},
			"audit":                                 {away, "standard output"},
			"whoami":                                {"Rob Diaz: responder"},
			"help":                                  {"status"},
		} {
			before := len(w.ephemerals("rob", words...))
			w.types("rob", line)
			w.until("an answer to "+line, func() bool { return len(w.ephemerals("rob", words...)) > before })
		}
		require.Empty(t, w.sent())
		status, _ = w.get("/healthz")
		require.Equal(t, http.StatusOK, status)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, `"ready":false`)
		w.until("it is logged, asked or not", func() bool { return w.journal.has("redis can't be reached") })

		w.redis.back()
		w.until("it is logged", func() bool { return w.journal.has("redis is back") })
		status, _ = w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
		w.card("/later")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.until("the denial is at the service", func() bool { return len(w.entries("acme")) == 1 }) // the card is drawn while it is under way, too
		w.polls(3)
		require.Len(t, w.cards("#waf"), 2)
		require.Len(t, w.shown("#waf"), 3, "and nothing is posted twice")
	})
}

// asks sends commands to a real Redis as an administrator does.
func (m redisServer) asks(t *testing.T, commands ...string) {
	t.Helper()
	where, err := url.Parse(m.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", where.Host)
	require.NoError(t, err)
	defer conn.Close()
	for _, command := range commands {
		_, err = fmt.Fprintf(conn, "%s\r\n", command)
		require.NoError(t, err)
		answer := make([]byte, 64)
		n, err := conn.Read(answer)
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", string(answer[:n]), command)
	}
}

// A Redis that takes no writes is reported as such: it answers, so that it is clear that nothing was recorded.
func TestRedisTakesNoWrites(t *testing.T) {
	full.Only(t)
	t.Parallel()
	for name, c := range map[string]struct{ on, off string }{
		"full":      {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"read-only": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := realRedis(t)
			playOver(t, redis, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
				w.attack(injection())
				card := w.card("/login")
				redis.asks(t, c.on)
				card.click("rob", "Deny "+attacker)
				w.ephemeral("rob", "not done: wafbot's store (Redis) takes nothing just now")
				w.types("rob", "status")
				w.ephemeral("rob", "Status of acme", "Going on: 1 attack")
				status, body := w.get("/readyz")
				require.Equal(t, 503, status)
				require.Contains(t, body, "can't be written")
				require.Empty(t, w.sent())
				redis.asks(t, c.off)
				w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
				w.card("/later")
				card.click("rob", "Deny "+attacker)
				card.says("Deny "+attacker+" · ", "Rob Diaz")
				w.until("denied", func() bool { return len(w.entries("acme")) == 1 })
				require.Equal(t, 2, len(w.cards("#waf")))
			})
		})
	}
}

// People without a role write 80 lines of 35 kB to the bot: 4 MB of Redis have room for what comes of them, and for a
// card and a denial afterwards.
func TestStrangersCannotFillRedis(t *testing.T) {
	full.Only(t)
	if testing.Short() {
		t.Skip("wants a real redis-server")
	}
	t.Parallel()
	redis := realRedis(t)
	playOver(t, redis, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.Slack.SetRateLimits(false)
		redis.asks(t, "CONFIG SET maxmemory 4mb")
		line := "@wafbot deny 203.0.113.9 reason=\"" + strings.Repeat("B", 35_000) + "\""
		for i := range 80 {
			w.writes([]string{"guest", "eve"}[i%2], "#waf", "", line)
		}
		told := func() int {
			return len(w.ephemerals("guest", "You have no role here")) + len(w.ephemerals("eve", "You have no role here"))
		}
		w.until("three of each are recorded, and each hears that the others aren't answered", func() bool { return told() == 2*(3+1) })
		status, _ := w.get("/readyz")
		require.Equal(t, 200, status)
		require.Equal(t, 2*3, strings.Count(w.journal.String(), `"outcome":"refused"`))
		require.NotContains(t, w.journal.String(), strings.Repeat("B", 600))
		w.attack(injection())
		card := w.card("/login")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.entries("acme"), 1)
		w.stop()
		require.Contains(t, w.journal.String(), "and 74 more refused until ")
		require.Equal(t, 2*(3+1), told(), "a flood of refusals sends Slack no more")
	})
}

// A Redis that takes connections and says nothing is worse than one that is away: everybody is answered all the same.
func TestRedisHangs(t *testing.T) {
	full.Only(t)
	t.Parallel()
	const commands = 64
	for _, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { silent.Close() })
			w := newWorld(t, redisServer{url: "redis://" + silent.Addr().String() + "/0"}, way)
			w.starts()
			var late []string
			var lock sync.Mutex
			var busy sync.WaitGroup
			for i := range commands {
				busy.Go(func() {
					d, err := w.Slack.Command(t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("deny 198.51.100.%d", i)})
					if err != nil || !d.Acked {
						lock.Lock()
						defer lock.Unlock()
						late = append(late, d.Took.String()+" "+d.Warning)
					}
				})
			}
			busy.Wait()
			require.Empty(t, late)
			w.until("answers", func() bool { return len(w.ephemerals("rob", "perhaps not recorded")) == commands })
			status, body := w.get("/healthz")
			require.Equal(t, 200, status, body)
			require.Empty(t, w.sent())
		})
	}
}

const addEntry = "POST /v4/ip_rules"

// What the service refuses for good is answered to the person who asked, and posted in the thread with a mention.
func TestTheServiceRefusesADenial(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{
		"status:400":      "the service refused it as invalid",
		"inner:400":       "the service refused it as invalid",
		"status:403":      "the service doesn't allow this to wafbot's token",
		"unauthenticated": "the service doesn't accept wafbot's token any more",
		"status:404":      "the service doesn't find it",
		"status:409":      "the service has an entry like that already",
		"status:423":      "the service has locked its rules just now",
		"status:429":      "the service takes no more requests just now",
	}
	for _, kind := range full.Some(2, slices.Sorted(maps.Keys(kinds))) {
		words := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			story(t, asItIs, func(t *testing.T, w *world) {
				w.attack(injection())
				card := w.card(attacker)
				require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: addEntry, Kind: kind}))
				card.click("rob", "Deny "+attacker)
				w.ephemeral("rob", "Failed: Deny "+attacker+" everywhere for 4 h", words)
				w.until("the thread has it", func() bool { return len(card.replies("<@U0ROB0002>", "Failed: Deny "+attacker, words)) == 1 })
				require.Empty(t, w.entries("acme"))
				require.True(t, w.journal.has(`"outcome":"failed"`, words))

				w.WAF.ClearFaults()
				card.click("ann", "Deny "+attacker)
				w.ephemeral("ann", "Deny "+attacker, "accepted by the service")
				require.Len(t, w.entries("acme"), 1)
				require.Contains(t, w.entries("acme")[0].Reason, "Anna Weber")
			})
		})
	}
}

// However it was asked, who asked is answered once and called once: under the card of the attack that it was for, else
// in the channel.
func TestAFailureMentionsItsAuthorOnce(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: addEntry, Kind: "status:400"}))
		w.types("rob", "deny "+attacker+" attack="+card.id())
		w.types("ann", "deny 198.51.100.9")
		w.message("#waf", "<@U0ROB0002> Failed: Deny "+attacker, "the service refused it as invalid")
		w.message("#waf", "<@U0ANN0001> Failed: Deny 198.51.100.9", "the service refused it as invalid")
		w.ephemeral("rob", "Failed: Deny "+attacker)
		w.ephemeral("ann", "Failed: Deny 198.51.100.9")
		w.polls(3)
		require.Len(t, card.replies(), 1)
		require.Len(t, w.shown("#waf"), 3, "the start, the card, and what has no card")
		require.Len(t, w.ephemerals("rob"), 1)
		require.Len(t, w.ephemerals("ann"), 1)
	})
}

// What passes is got over, and however the answer is lost there is one entry.
func TestTheServiceStumblesOverADenial(t *testing.T) {
	t.Parallel()
	for _, kind := range full.Some(3, []string{"status:429", "status:500", "html", "reset", "cut", "500_applied", "reset_applied", "slow"}) {
		t.Run(kind, func(t *testing.T) {
			story(t, asItIs, func(t *testing.T, w *world) {
				w.attack(injection())
				card := w.card(attacker)
				require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: addEntry, Kind: kind, Times: 1}))
				card.click("rob", "Deny "+attacker)
				w.ephemeral("rob", "Deny "+attacker, "accepted by the service")
				entries := w.entries("acme")
				require.Len(t, entries, 1)
				require.Contains(t, entries[0].Reason, "by Rob Diaz (U0ROB0002)")
				card.undo("rob", "Deny "+attacker)
				card.undone("Rob Diaz")
				require.Empty(t, w.entries("acme"))
			})
		})
	}
}

// A rule created twice would be two rules, so a lost answer is looked into and never simply sent again.
func TestTheServiceStumblesOverAPatch(t *testing.T) {
	t.Parallel()
	for _, kind := range full.Some(2, []string{"status:429", "cut", "500_applied", "reset_applied"}) {
		t.Run(kind, func(t *testing.T) {
			story(t, asItIs, func(t *testing.T, w *world) {
				w.attack(injection())
				card := w.card(attacker)
				require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "POST /v1/objects/hint/create", Kind: kind, Times: 1}))
				w.types("rob", "patch attack="+card.id())
				w.ephemeral("rob", "Patch exactly POST shop.example.com/login", "accepted by the service")
				require.Len(t, w.rules("acme", "vpatch"), 1)
				card.undo("rob", "Patch exactly")
				card.undone("Rob Diaz")
				require.Empty(t, w.rules("acme", "vpatch"))
			})
		})
	}
}

// rough lets Slack refuse calls: that is what these stories are about.
func rough(w *world) { w.rough = true }

func TestACardIsPostedOnceWhateverSlackAnswers(t *testing.T) {
	t.Parallel()
	kinds := []string{"ratelimited", "ratelimited_posted", "500", "500_posted", "timeout_posted", "service_unavailable", "fatal_error"}
	for _, kind := range full.Some(3, kinds) {
		t.Run(kind, func(t *testing.T) {
			story(t, rough, func(t *testing.T, w *world) {
				w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: kind, Times: 1})
				w.attack(injection())
				card := w.card("/login")
				card.click("rob", "Deny "+attacker) // also while the bot doesn't know yet that the card is there
				w.ephemeral("rob", "accepted by the service")
				card.says("Deny "+attacker+" · ", "Rob Diaz")
				w.polls(3)
				require.Len(t, w.cards("#waf"), 1)
				require.Len(t, w.shown("#waf"), 2)
			})
		})
	}
}

func TestAnArchivedChannel(t *testing.T) {
	elsewhere := func(w *world) {
		w.rough = true
		w.cfg.Accounts[0].Routes = []config.Route{{Channel: "C0RANDOM3"}}
	}
	story(t, elsewhere, func(t *testing.T, w *world) {
		require.NoError(t, w.Slack.SetArchived("#random", true))
		w.attack(injection())
		card := w.card("/login")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 1)
		require.Empty(t, w.Slack.Messages("#random"))
	})
}

func TestACardThatSlackRefusesGoesOutAsText(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "invalid_blocks", Times: 1})
		w.attack(injection())
		card := w.card("NOT BLOCKED, high attack: SQL injection on Shop, 203.0.113.7 (FR)")
		w.until("a second try without blocks", func() bool { return w.journal.has("slack refuses what is in a message", "chat.postMessage") })
		require.Len(t, w.cards("#waf"), 1)
		requirePlain(t, card)
		w.types("rob", "deny attack="+card.id())
		card.says("Deny "+attacker+" · ", "Rob Diaz") // drawn at the next edit
	})
}

// requirePlain holds what a card in text alone says: what happens, how much, and what to type.
func requirePlain(t *testing.T, card shownCard) {
	t.Helper()
	text := card.now().Text
	for _, part := range []string{"SQL injection", "POST shop.example.com/login", " hits", "`/waf deny " + attacker} {
		require.Contains(t, text, part)
	}
	require.LessOrEqual(t, utf8.RuneCountInString(text), 3_500)
}

func TestAnEditThatSlackRefusesGoesOutAsText(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.known()
		w.Slack.SetFault(workspace.Fault{Method: "chat.update", Kind: "msg_blocks_too_long", Times: 1})
		w.types("rob", "note attack="+card.id()+" seen")
		w.until("an edit without blocks", func() bool { return len(card.now().Blocks) == 0 && strings.Contains(card.now().Text, "under Details") })
		require.True(t, w.journal.has("level=ERROR", "slack refuses what is in a message", "chat.update"))
		requirePlain(t, card)
		require.NotEmpty(t, card.now().Metadata, "it can be read back all the same")
		w.types("rob", "ack attack="+card.id())
		w.until("blocks at the next edit", func() bool { return len(card.now().Blocks) > 0 })
	})
}

// What it carries for wafbot goes, and not what people read.
func TestACardWhoseMetadataSlackRefuses(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "metadata_too_large", Times: 1})
		w.attack(injection())
		card := w.message("#waf", attacker)
		require.NotEmpty(t, card.Buttons())
		require.Contains(t, string(card.Metadata), "delivery")
		require.NotContains(t, string(card.Metadata), "hits_decade")
	})
}

func TestAnAnswerFindsItsWay(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.Slack.SetFault(workspace.Fault{Method: "response_url", Kind: "expired_url"})
		w.types("rob", "deny 198.51.100.9")
		w.ephemeral("rob", "Deny 198.51.100.9", "accepted by the service")
		require.Len(t, w.entries("acme"), 1)
	})
}

func TestSlackDoesNotSayWhoAPersonIs(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.Slack.SetFault(workspace.Fault{Method: "users.info", Kind: "500"})
		w.types("rob", "deny 198.51.100.9")
		w.ephemeral("rob", "Slack doesn't say who you are just now")
		require.Empty(t, w.sent())
		w.types("rob", "lists")
		w.ephemeral("rob", "acme: 0 entr")
		w.Slack.ClearFaults()
		w.types("rob", "deny 198.51.100.9")
		w.ephemeral("rob", "accepted by the service")
	})
}

// An edit that Slack will never take must not eat the edits of all other cards.
func TestADeletedCardIsEditedOnce(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.Slack.SetFault(workspace.Fault{Method: "chat.update", Kind: "message_not_found"})
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "accepted by the service")
		w.until("an edit that is refused", func() bool { return w.journal.has("redraw card", "message_not_found") })
		w.types("rob", "note attack="+card.id()+" seen")
		w.polls(72)               // what was done is drawn, or would be, and several times longer than until an edit is tried again
		edits := map[string]int{} // by the card and what it was to show: something new to say is a new edit
		for _, call := range w.Slack.Calls() {
			if call.Method == "chat.update" {
				edits[call.Args["ts"]+call.Args["text"]+call.Args["blocks"]]++
			}
		}
		require.NotEmpty(t, edits)
		for edit, times := range edits {
			require.LessOrEqual(t, times, 2, "tried again, not just drawn for two marks at once: %s", edit)
		}
	})
}

// A change is shown all the same: by the card that takes the place of the one that is gone, with its undo.
func TestAChangeWhoseCardIsGone(t *testing.T) {
	story(t, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.known()
		w.Slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "thread_not_found", Times: 1})
		card.click("rob", "Deny "+attacker)
		again := w.card("reposted: the former card is gone", "Deny "+attacker+" · ", "Rob Diaz")
		require.Empty(t, card.replies())
		again.undo("ann", "Deny "+attacker)
		w.ephemeral("ann", "Undo of: Deny "+attacker)
		require.Empty(t, w.entries("acme"))
	})
}
