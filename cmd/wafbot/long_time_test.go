package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// expires is when the entry for a range ends; zero: there is none.
func (w *world) expires(subnet string) time.Time {
	w.t.Helper()
	for _, e := range w.entries("acme") {
		if e.Subnet == subnet {
			return time.Unix(e.ExpiredAt, 0)
		}
	}
	return time.Time{}
}

// A denial is extended while its source is still trying, by any live replica, and undone with all its extensions. What
// can't be extended is asked about, and ends on its card.
func TestWhatEndsWhileTheAttackGoesOn(t *testing.T) {
	prepare := func(w *world) { w.cfg.Policy.RenewWhileActive = time.Hour }
	story(t, prepare, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "deny "+attacker+" for=20s attack="+card.id())
		w.confirms("rob", "may hold longer than 20 s")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.types("ann", "deny 198.51.100.96/28 for=16s attack="+card.id())
		w.confirms("ann", "may hold longer than 16 s")
		w.ephemeral("ann", "Deny 198.51.100.96/28 everywhere for 16 s: accepted")
		first := w.expires(attacker + "/32")
		w.stop()
		w.start()

		ask := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 16 s ends at ", "and the attack goes on")
		require.Equal(t, card.ts, ask.ThreadTS)
		require.Contains(t, ask.Text, "<@U0ROB0002>", "who is on it")
		require.False(t, ask.Broadcast)
		w.until("renewed", func() bool { return w.expires(attacker + "/32").Equal(first.Add(20 * time.Second)) })
		w.until("the clock's line is printed", func() bool {
			return w.journal.has(`"via":"clock"`, "extend ", "it is still trying", `"outcome":"done"`)
		})
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		card.shows(first.Add(20 * time.Second))
		w.until("it has ended", func() bool { return w.expires("198.51.100.96/28").IsZero() })
		w.types("rob", "attack "+card.id())
		w.ephemeral("rob", "Deny 198.51.100.96/28", "ended")
		require.Len(t, card.replies("198.51.100.96/28", "the attack goes on"), 1)
		require.Empty(t, card.replies("Extend by"), "the card says until when")

		card.undo("rob", "Deny "+attacker)
		card.undone("Rob Diaz")
		require.Empty(t, w.entries("acme"))
		require.False(t, w.WAF.Denied("acme", attacker))
	})
}

// Who acted at a terminal can't be mentioned: the channel is asked.
func TestTheChannelIsAskedWhereNoOneCanBeMentioned(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		short := []string{"deny", "198.51.100.96/28", "for=24s", "attack=" + card.id(), "-y"}
		asked := w.atShell(short...)
		require.Equal(t, exitUsage, asked.code)
		require.Contains(t, asked.err, "may hold longer than 24 s. for=5m is the shortest that is certain\n")
		require.Contains(t, asked.err, "This is asked in spite of -y")
		denied := typedAtTerminal(t, w.shell("[]", record.Responder), "y\n", short...)
		require.Equal(t, exitDone, denied.code, denied.err)
		ask := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 24 s ends at ", "and the attack goes on")
		require.Equal(t, card.ts, ask.ThreadTS)
		require.True(t, ask.Broadcast)
	})
}

// Slack is away when people are to be asked, and until it is over: they hear that it is.
func TestWhatEndedBeforeAnybodyCouldBeAsked(t *testing.T) {
	overOne(t, workspace.IngressHTTP, rough, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "deny 198.51.100.96/28 for=20s attack="+card.id())
		w.confirms("rob", "may hold longer than 20 s")
		card.says("Deny 198.51.100.96/28 · ", "Rob Diaz")
		// the reply about the denial comes after its card: not posted yet it would be tried before the question, again and
		// again
		w.until("posted in the thread", func() bool { return len(card.replies("Deny 198.51.100.96/28")) == 1 })
		w.ephemeral("rob", "Deny 198.51.100.96/28", "accepted")
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		w.until("it can't be posted", func() bool { return w.journal.has("notify event", "kind=ending") })
		w.polls(24) // six seconds: it is over
		w.Slack.ClearFaults()
		notice := w.message("#waf", "Deny 198.51.100.96/28 everywhere for 20 s ended at ", "while the attack went on")
		require.Equal(t, card.ts, notice.ThreadTS)
		require.Contains(t, notice.Text, "<@U0ROB0002>", "who is on it")
		w.polls(4)
		require.Len(t, card.replies("while the attack went on"), 1)
	})
}

// overwrites is what a person does in the service's console.
func (w *world) overwrites(subnet, reason string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"clientid":%d,"force":true,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":%q,"pools":[0],"expired_at":%d,"reason":%q}}`,
		w.cfg.Accounts[0].ClientID, subnet, time.Now().Add(time.Hour).Unix(), reason)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.cfg.Accounts[0].APIURL+"/v4/ip_rules", strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("X-ServiceApi-Token", w.cfg.Accounts[0].Token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	status, answer := w.do(r)
	require.Less(w.t, status, 300, answer)
}

func TestAWholeAttackIsUndone(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Patch exactly", "accepted by the service")
		w.types("ann", "deny "+neighbour+" attack="+card.id())
		w.ephemeral("ann", "Deny "+neighbour, "accepted")
		w.overwrites(neighbour+"/32", "mine now")

		w.types("ann", "undo attack="+card.id())
		w.sees("ann", "Undo 3 changes, the newest first?", "Deny "+neighbour+" everywhere for 4 h · Anna Weber", "Patch exactly", "Deny "+attacker+" everywhere for 4 h · Rob Diaz")
		w.confirms("ann", "Undo 3 changes")
		w.ephemeral("ann", "the entry for "+neighbour+" is another author's now (mine now), left as it is", "Undo of: Patch exactly", "Undo of: Deny "+attacker)
		w.until("posted in the thread", func() bool { return len(card.replies("nothing of it was left")) == 1 })
		entries := w.entries("acme")
		require.Len(t, entries, 1)
		require.Equal(t, "mine now", entries[0].Reason)
		require.Empty(t, w.rules("acme", "vpatch"))
	})
}

// A mode returns after a restart, and where it can't that is said, once.
func TestATimedModeOverARestart(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		w.types("rob", "mode Shop block for=3s")
		w.confirms("rob", "Switch Shop to block for 3 s?", "incidents are registered only in monitoring")
		w.ephemeral("rob", "Switch Shop to block for 3 s", "accepted")
		w.stop()
		w.start()
		w.until("mode returns", func() bool { return len(w.modeRules()) == 1 && w.modeRules()[0] == "monitoring" })
		w.message("#waf", "Undo of: Switch Shop to block for 3 s", "wafbot")
		w.until("audited", func() bool { return w.journal.has(`"via":"clock"`, `"outcome":"done"`) })

		w.types("rob", "mode Shop block for=15s")
		w.confirms("rob", "Switch Shop to block for 15 s?")
		answer := w.ephemeral("rob", "Switch Shop to block for 15 s", "accepted")
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: createRule, Kind: "status:400"}))
		w.message("#waf", "@U0ROB0002", "OVERDUE on acme: Shop should return to monitoring", "NOT done", "refused it as invalid", "set the mode of Shop to monitoring")
		require.Equal(t, []string{"block"}, w.modeRules())
		w.stop()
		w.start()
		w.polls(2)
		require.Equal(t, 1, w.count("#waf", "OVERDUE"))
		w.WAF.ClearFaults()
		w.types("ann", "undo "+changeIn(answer.Plain()))
		w.message("#waf", "Done after all, due at", "Undo of: Switch Shop to block for 15 s", "Anna Weber")
		require.Equal(t, []string{"monitoring"}, w.modeRules())
		require.Zero(t, w.count("#waf", "WAF permission lost"))
	})
}

// sooner has mitigations judged sooner than those of the real service, in the story's world, which is faster still.
func sooner(w *world) { w.speed = 60 }

// allows is what a person does in the service's console: the source is allowed for an hour.
func (w *world) allows(subnet string) {
	w.t.Helper()
	_, err := w.WAF.SeedIPRule("acme", waf.IPRule{RuleType: "ip_range", List: "white", Subnet: subnet, Pools: []int{0}, ExpiredAt: time.Now().Add(time.Hour).Unix()})
	require.NoError(w.t, err)
}

// asks types a line until it is answered so. A last hit that is listed late takes back for a while that a mitigation
// works.
func (w *world) asks(user, line string, parts ...string) {
	w.t.Helper()
	w.until(user+" reads: "+strings.Join(parts, ", "), func() bool {
		w.answer(user, line)
		answered := len(w.ephemerals(user, parts...)) > 0
		if !answered {
			w.polls(1)
		}
		return answered
	})
}

// pausing starts an attack that pauses: while it sends next to nothing, a denial has nothing to stop.
func (w *world) pausing(spec waf.AttackSpec) (goesOn func()) {
	w.t.Helper()
	const slower = 1_000_000 // so a hit during the test is next to impossible
	for i := range spec.Sources {
		spec.Sources[i].PerSecond /= slower
	}
	spec.Hits = 900
	id := w.attack(spec)
	return func() {
		w.t.Helper()
		require.NoError(w.t, w.WAF.GrowAttack(id, slower))
	}
}

// A card shows of each mitigation whether it works, also when the replica that made it is gone.
func TestMitigationsAreSeenToWork(t *testing.T) {
	story(t, sooner, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "contain attack="+card.id())
		w.ephemeral("rob", "Patch exactly", "accepted by the service")
		w.stop()
		w.start()
		card.says("Deny "+attacker+" · ", "Rob Diaz", "working, ")
		card.says("Patch POST shop.example.com/login, Shop", "working, ")
		w.asks("ann", "attack "+card.id(), "working: nothing through since")
		w.asks("ann", "status", "working, at least ", " stopped · Deny "+attacker)
		require.Empty(t, card.replies("NOT WORKING"))
	})
}

// A mitigation that doesn't work mentions its author once, with the reason; the next owner doesn't repeat it.
func TestAMitigationThatDoesNotWorkMentionsItsAuthor(t *testing.T) {
	story(t, sooner, func(t *testing.T, w *world) {
		goesOn := w.pausing(injection())
		card := w.card(attacker)
		w.types("ann", "ack attack="+card.id())
		w.ephemeral("ann", "Anna Weber is on it")
		w.types("rob", "deny "+attacker+" attack="+card.id())
		w.ephemeral("rob", "Deny "+attacker, "accepted")
		w.allows(attacker + "/32")
		goesOn()
		w.types("ann", "deny 198.51.100.96") // a change makes wafbot read the active mitigations again
		w.ephemeral("ann", "Deny 198.51.100.96", "accepted")

		reply := w.message("#waf", "Deny "+attacker+" everywhere for 4 h: NOT WORKING: ", "got through since", "Likely: "+attacker+" is on the allowlist", "which wins")
		require.Equal(t, card.ts, reply.ThreadTS)
		require.True(t, reply.Broadcast)
		require.Contains(t, reply.Text, "<@U0ROB0002> <@U0ANN0001>", "who made it, and who is on it")
		card.says("NOT working")
		w.stop()
		w.start()
		w.attack(waf.AttackSpec{Path: "/next"})
		w.card("/next")
		require.Len(t, card.replies("NOT WORKING"), 1)
	})
}

// What concerns no card is posted in the account's channel.
func TestAMitigationWithoutACardIsPostedInTheChannel(t *testing.T) {
	story(t, sooner, func(t *testing.T, w *world) {
		goesOn := w.pausing(injection())
		w.card(attacker)
		w.types("rob", "deny "+neighbour)
		w.ephemeral("rob", "Deny "+neighbour, "accepted")
		w.allows(neighbour + "/32")
		goesOn()
		notice := w.message("#waf", "Deny "+neighbour+" everywhere for 4 h: NOT WORKING: ")
		require.Empty(t, notice.ThreadTS)
		require.Contains(t, notice.Text, "<@U0ROB0002>")
	})
}

// A denied source that was still trying at the end comes back: that mentions people, too.
func TestADenialEndsWhileItsSourceIsStillTrying(t *testing.T) {
	prepare := func(w *world) { sooner(w); w.cfg.Policy.RenewWhileActive = 0 }
	story(t, prepare, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.types("rob", "deny "+attacker+" for=30s attack="+card.id())
		w.confirms("rob", "may hold longer than 30 s")
		card.says("working, ")
		reply := w.message("#waf", "Deny "+attacker+" everywhere for 30 s: its source ")
		require.Equal(t, card.ts, reply.ThreadTS)
		require.Contains(t, reply.Text, "<@U0ROB0002>")
		card.says("ended, its source came back")
	})
}

// noters write notes as one person until they are stopped.
type noters struct {
	w     *world
	ids   []string // of the attacks, which take turns
	stop  func()
	busy  sync.WaitGroup
	mu    sync.Mutex
	acked map[string]bool
	lost  int
	why   []string // of the lost ones
}

// mayWait is how many of a person's notes may wait before the writers do: of more than 64 the bot says that it doesn't
// take them.
const mayWait = 48

// Pauses of writers. In a long story unhurried ones don't write as many notes as its attacks keep, a hundred each.
const (
	hurried   = 10 * time.Millisecond
	unhurried = 200 * time.Millisecond
)

// notes has four writers write notes about some attacks, each with so long a pause; each note is another.
func (w *world) notes(ids []string, pause time.Duration) *noters {
	end := make(chan struct{})
	n := &noters{w: w, ids: ids, stop: sync.OnceFunc(func() { close(end) }), acked: map[string]bool{}}
	for writer := range 4 {
		n.busy.Go(func() {
			for i := 0; ; {
				select {
				case <-end:
					return
				case <-time.After(pause):
				}
				if acked, _ := n.written(); acked-len(w.ephemerals("rob")) <= mayWait {
					n.write(i, fmt.Sprintf("note %d of writer %d", i, writer))
					i++
				}
			}
		})
	}
	return n
}

func (n *noters) write(i int, note string) {
	d, err := n.w.Slack.Command(n.w.t.Context(), workspace.Command{
		User: "rob", Channel: "#waf", Text: fmt.Sprintf("note attack=%s %q", n.ids[i%len(n.ids)], note),
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && d.Status == http.StatusOK {
		n.acked[note] = true
		return
	}
	n.lost++
	d.Payload = nil
	n.why = append(n.why, fmt.Sprintf("%+v %v", d, err))
}

func (n *noters) written() (acked, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.acked), n.lost
}

// manyAttacks begins attacks and returns the ids on their cards: one takes a hundred notes.
func (w *world) manyAttacks(n int) (ids []string) {
	w.t.Helper()
	for range n {
		w.attack(injection())
	}
	w.until("cards", func() bool { return len(w.cards("#waf")) == n })
	for _, c := range w.cards("#waf") {
		ids = append(ids, factsOf(c).Payload.Attack)
	}
	return ids
}

// Whatever was acknowledged before, during and after a stop is done once; what was not, was not.
func TestAStopUnderClicks(t *testing.T) {
	overLinks(t, unpaced, func(t *testing.T, w *world) {
		ids := w.manyAttacks(8)
		n := w.notes(ids, hurried)
		for _, acked := range []int{20, 40, 60} {
			w.until("notes", func() bool { got, _ := n.written(); return got >= acked })
			w.stop()
			_, before := n.written()
			n.write(0, "a note that nobody takes") // the writers may be waiting for answers
			_, lost := n.written()
			require.Greater(t, lost, before)
			w.start()
		}
		n.stop()
		n.busy.Wait()
		w.requireNotes(n.acked, ids)
	})
}

// Two replicas receive over links of their own. When one ends, the other takes the lead and receives alone.
func TestTwoReplicasOverLinks(t *testing.T) {
	overOne(t, workspace.IngressSocket, asItIs, func(t *testing.T, w *world) {
		ids := w.manyAttacks(2)
		first := w.stop
		w.start()
		defer w.stop()
		w.until("links of both", func() bool { return len(w.Slack.Links()) == 4 })
		n := w.notes(ids, hurried)
		w.until("notes over all links", func() bool {
			for _, l := range w.Slack.Links() {
				if l.Acked < 3 {
					return false
				}
			}
			return true
		})
		n.stop()
		n.busy.Wait()
		_, lost := n.written()
		require.Zero(t, lost)

		first()
		w.until("links of the other", func() bool { return len(w.Slack.Links()) == 2 })
		w.types("rob", fmt.Sprintf("note attack=%s %q", ids[0], "the last one"))
		n.acked["the last one"] = true
		w.requireNotes(n.acked, ids)
	})
}

// Links that were opened while Redis was away are counted as soon as it is back, and a spare one is opened then.
func TestLinksOpenedWithoutRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressSocket)
	w.redis.away()
	w.starts()
	w.until("a link that the bot has heard of", func() bool {
		_, body := w.get("/readyz")
		return strings.Contains(body, `"ingress":{"socket mode":"ok`)
	})
	w.types("rob", "deny 198.51.100.9")
	w.ephemeral("rob", "not done: wafbot's store (Redis) can't be reached")
	require.Len(t, w.Slack.Links(), 1)

	w.redis.back()
	w.until("the spare link", func() bool { return len(w.Slack.Links()) == 2 })
	opened, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(t, err)
	defer opened.Close()
	require.Eventually(t, func() bool {
		third, err := opened.Slack.TakeLink(t.Context(), "third", 2)
		return err == nil && !third
	}, patience, 100*time.Millisecond, "both are counted")
}

// A rolling update: each of two replicas is stopped in turn, and a new one starts in its place, while attacks come and
// people act.
func TestARollingUpdate(t *testing.T) {
	both := func(w *world) {
		cfg, err := demoConfig(w.World)
		require.NoError(t, err)
		globex := cfg.Accounts[1]
		globex.Routes = []config.Route{{}} // all attacks get a card, also those that are blocked
		w.cfg.Accounts = append(w.cfg.Accounts, globex)
		unpaced(w)
	}
	overOne(t, workspace.IngressSocket, both, func(t *testing.T, w *world) {
		oldest := w.stop
		w.start()
		acked := 0
		for round := range 4 {
			w.until("links of both", func() bool { return len(w.Slack.Links()) == 4 })
			for _, account := range []string{"acme", "globex"} {
				spec := injection()
				spec.Account = account
				w.attack(spec)
			}
			next := w.stop
			var stopping sync.WaitGroup
			stopping.Go(oldest)
			for n := range 10 {
				d, err := w.Slack.Command(t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("deny 198.51.100.%d", 10*round+n)})
				require.NoError(t, err)
				if d.Acked {
					acked++
				}
			}
			stopping.Wait()
			w.start()
			oldest = next
		}
		w.until("cards", func() bool { return len(w.cards("#waf")) >= 4 && len(w.cards("#waf-globex")) >= 4 })
		w.until("denials", func() bool { return len(w.entries("acme")) >= acked })
		w.polls(4)
		oldest()
		require.Len(t, w.cards("#waf"), 4)
		require.Len(t, w.cards("#waf-globex"), 4)
		require.Len(t, w.entries("acme"), acked)
		require.Len(t, w.sent(), acked)
		require.Greater(t, acked, 20)
	})
}

// One person clicks and types in vain on an account whose service hangs: another person on another account notices
// nothing, and the first one is told when it is too much.
func TestAnAccountThatHangsHoldsNoOther(t *testing.T) {
	story(t, bothAccounts, func(t *testing.T, w *world) {
		const kept = 1 + 64
		lines := full.Of(100, 420)
		w.rough = true
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "hang"}))
		for i := range lines {
			w.types("rob", fmt.Sprintf("deny 198.51.100.%d for=1h reason=%d", i%250, i))
		}
		w.typesIn("#waf-globex", "ann", "deny 203.0.113.99")
		w.message("#waf-globex", "Deny 203.0.113.99", "Anna Weber")
		require.Len(t, w.entries("globex"), 1)
		require.Empty(t, w.ephemerals("rob", "accepted by the service"))
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "Not done: 64 of your lines wait already")) >= lines-kept-1
		})
	})
}

// A person who types on without waiting for answers means the lines in that order.
func TestAPersonsLinesKeepTheirOrder(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		const times = 4
		for i := range times {
			w.types("rob", fmt.Sprintf("deny 198.51.100.%d", i))
			w.types("rob", "undo")
		}
		w.until("answers", func() bool { return len(w.ephemerals("rob", "ndo")) >= times })
		require.Empty(t, w.entries("acme"))
	})
}
