package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestAnAttackIsDeniedAndTheDenialUndone(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card("SQL injection", "POST shop.example.com/login", "NOT BLOCKED", attacker)
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service", "by Rob Diaz")

		entries := w.entries("acme")
		require.Len(t, entries, 1)
		require.Equal(t, attacker+"/32", entries[0].Subnet)
		require.Contains(t, entries[0].Reason, "by Rob Diaz (U0ROB0002) for "+card.id())
		require.LessOrEqual(t, len([]rune(entries[0].Reason)), 200)
		card.says("Deny "+attacker+" · ", "Rob Diaz", "sent", "<@U0ROB0002> is on it")
		card.shows(time.Unix(entries[0].ExpiredAt, 0))
		require.NotContains(t, card.labels(), "Deny "+attacker, "it is done")

		w.until("denial in force", func() bool { return w.state("acme").IPRules[0].InForce })
		stopped, others := w.hits(attack, attacker), w.hits(attack, neighbour)
		require.Zero(t, stopped.Through)
		require.Positive(t, stopped.Blocked)
		require.Positive(t, others.Through, "others go on")
		require.Zero(t, others.Blocked)

		// Active mitigations are read slowly: the card has to follow once more.
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "POST /v1/objects/hint", Kind: "slow", Times: 1}))
		card.undo("rob", "Deny "+attacker)
		card.undone("Rob Diaz")
		require.Empty(t, w.entries("acme"))
		require.False(t, w.WAF.Denied("acme", attacker))
		card.says("[Deny " + attacker + "]") // it can be done again
		w.until("denial out of force", func() bool { return len(w.state("acme").IPRules) == 0 })
		require.Positive(t, w.hits(attack, attacker).Through)
	})
}

// Slack delivers a click twice, and then the same bytes once more.
func TestTheSameSignedBytesAgain(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.Slack.SetFault(workspace.Fault{Kind: "duplicate_delivery", Times: 1})
		click := card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker, "accepted")
		w.acknowledged(w.Slack.Replay(t.Context(), click))
		read := w.types("rob", "whoami")
		w.ephemeral("rob", "Rob Diaz: responder")
		w.acknowledged(w.Slack.Replay(t.Context(), read))

		// What comes after the replays is done after them.
		w.types("rob", "deny 198.51.100.200")
		w.ephemeral("rob", "Deny 198.51.100.200", "accepted")
		w.types("rob", "help audit")
		w.ephemeral("rob", "since=")
		require.Len(t, w.entries("acme"), 2)
		require.Len(t, w.ephemerals("rob", attacker), 1, "one answer")
		require.Len(t, w.ephemerals("rob", "Rob Diaz: responder"), 1)
	})
}

func TestADoubleClick(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		message := card.now()
		w.click("rob", message, "Deny "+attacker)
		w.click("rob", message, "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker, "accepted by the service")
		w.ephemeral("rob", "Done, nothing to change. ", "by Rob Diaz")
		require.Len(t, w.entries("acme"), 1)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Equal(t, 1, strings.Count(card.now().Plain(), "Deny "+attacker+" · "), "one mitigation")
	})
}

// bothClick has Ann and Rob click a button at the same moment, and returns their names.
func (w *world) bothClick(m workspace.Message, button string) map[string]string {
	w.t.Helper()
	names := map[string]string{"ann": "Anna Weber", "rob": "Rob Diaz"}
	var clicks sync.WaitGroup
	for user := range names {
		clicks.Go(func() {
			d, err := w.Slack.Click(w.t.Context(), workspace.Click{User: user, Channel: m.Channel, TS: m.TS, Button: button})
			if err != nil || d.Status != http.StatusOK {
				w.t.Errorf("click of %s: %+v, %v", user, d, err)
			}
		})
	}
	clicks.Wait()
	return names
}

func TestTwoPeopleAtOnce(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		message := w.card(attacker).now()
		names := w.bothClick(message, "Deny "+attacker)
		w.until("both are answered", func() bool { return len(w.ephemerals("ann", attacker)) == 1 && len(w.ephemerals("rob", attacker)) == 1 })
		first, second := "ann", "rob"
		if len(w.ephemerals("rob", "accepted by the service")) == 1 {
			first, second = second, first
		}
		require.Len(t, w.ephemerals(first, "accepted by the service"), 1)
		require.Len(t, w.ephemerals(second, names[first], "Done, nothing to change. "), 1)
		entries := w.entries("acme")
		require.Len(t, entries, 1)
		require.Contains(t, entries[0].Reason, names[first])
		require.Len(t, slices.DeleteFunc(w.sent(), func(r waf.Request) bool { return r.Method != "POST" }), 1)
	})
}

// throughOwnCDN is an injection whose source is the customers' way in: what denies it denies them.
func throughOwnCDN() waf.AttackSpec {
	return waf.AttackSpec{
		Type: "xss", Method: "GET", Path: "/shop/comments.php", Parameter: "GET_text_value",
		Sources: []waf.SourceSpec{{IP: "192.0.2.10", Country: "DE", PerSecond: 3}}, Started: waf.Duration(2 * time.Minute),
	}
}

// patched is what a request to create a patch asks for.
type patched struct {
	Type       string  `json:"type"`
	AttackType string  `json:"attack_type"`
	Point      [][]any `json:"point"`
	Action     []struct {
		Type  string `json:"type"`
		Point []any  `json:"point"`
		Value any    `json:"value"`
	} `json:"action"`
}

func (w *world) patched() (p patched) {
	w.t.Helper()
	sent := w.sent()
	require.NotEmpty(w.t, sent)
	last := sent[len(sent)-1]
	require.Equal(w.t, "/v1/objects/hint/create", last.Path)
	require.NoError(w.t, json.Unmarshal([]byte(last.Body), &p))
	return p
}

func TestAPatchWhereDenyingIsNotOffered(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(throughOwnCDN())
		card := w.card("192.0.2.10 = our CDN")
		require.Contains(t, card.labels(), "Patch")
		card.click("rob", "Patch")
		w.ephemeral("rob", "Patch exactly GET shop.example.com/shop/comments.php, Shop only, field text", "accepted by the service")

		p := w.patched()
		require.Equal(t, []any{"vpatch", "xss", [][]any{{"get", "text"}}}, []any{p.Type, p.AttackType, p.Point})
		scope := map[string]any{}
		for _, c := range p.Action {
			point, err := json.Marshal(c.Point)
			require.NoError(t, err)
			scope[string(point)] = c.Value
			if c.Value == nil {
				require.Equal(t, "absent", c.Type)
			}
		}
		require.Equal(t, map[string]any{
			`["instance"]`: "4", `["header","HOST"]`: "shop.example.com", `["method"]`: "GET",
			`["path",0]`: "shop", `["path",1]`: nil, `["action_name"]`: "comments", `["action_ext"]`: "php",
		}, scope, "exactly the attack's scope")

		w.until("patch in force", func() bool { r := w.rules("acme", "vpatch"); return len(r) == 1 && r[0].InForce })
		require.Zero(t, w.hits(attack, "192.0.2.10").Through)
		card.undo("rob", "Patch exactly")
		card.undone("Rob Diaz")
		require.Empty(t, w.rules("acme", "vpatch"))
		w.until("hits pass again", func() bool { return w.hits(attack, "192.0.2.10").Through > 0 })
	})
}

// modeRules are the modes that acme's rules set for Shop.
func (w *world) modeRules() (modes []string) {
	w.t.Helper()
	for _, r := range w.rules("acme", "service_mode") {
		if r.Words == "sets mode "+r.Mode+` for instance equal "4"` {
			modes = append(modes, r.Mode)
		}
	}
	return modes
}

func TestAModeIsSwitchedAndUndone(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		open := func() {
			card.opens("rob", "More…")
			w.presses("rob", "Mode of Shop…")
			w.sees("rob", "Mode of Shop by rules: monitoring")
		}
		open()
		require.Equal(t, workspace.OutcomePushed, w.checked("rob", open, map[string]any{"mode": "block"}).Outcome)
		w.confirms("rob", "Before you do", "incidents are registered only in monitoring")
		w.ephemeral("rob", "Switch Shop to block for 2 h", "accepted by the service")
		require.Equal(t, []string{"block"}, w.modeRules(), "the old rule is gone")
		w.until("block mode in force", func() bool { return w.mode() == "block" })

		card.undo("rob", "Switch Shop to block")
		card.undone("Rob Diaz")
		require.Equal(t, []string{"monitoring"}, w.modeRules(), "as before")
		w.until("monitoring in force", func() bool { return w.mode() == "monitoring" })
	})
}

func TestAQuestionCancelled(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.writes("rob", "#waf", "", "@wafbot mode Shop block") // a mention opens no view
		question := w.ephemeral("rob", "Before you do")
		w.click("rob", question, "Cancel")
		w.ephemeral("rob", "Cancelled. Nothing was done")
		require.Empty(t, w.ephemerals("rob", "Before you do"), "the question is gone")
		require.Equal(t, "monitoring", w.mode())
		require.Empty(t, w.sent())
		require.Equal(t, []waf.IPRuleState{}, w.entries("acme"))
	})
}

// One replica's configuration switches changes off: none makes any, whatever account it is about, until that replica is
// gone.
func TestOneReplicaSwitchesChangesOff(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		answer := w.askedAtShell("deny " + attacker)
		first, address := w.stop, w.address
		off := *w.cfg
		off.Policy.Changes = "off"
		w.cfg = &off
		w.start()
		// statuses waits until the answers of whichever replica say so, six times one after another.
		statuses := func(says string) {
			same := 0
			w.until("all replicas are "+says, func() bool {
				if same++; !strings.Contains(w.answer("vic", "status"), says) {
					same = 0
				}
				return same >= 6
			})
		}
		statuses("only watching: changes are switched off")
		for range 4 {
			w.types("rob", "deny "+attacker)
		}
		w.until("refusals", func() bool {
			return len(w.ephemerals("rob", "changes are switched off (policy.changes: off)")) == 4
		})
		got := answer("y")
		require.Contains(t, got.err, "changes are switched off", "since it was asked")
		require.Empty(t, w.sent())

		w.stop()
		w.stop, w.address = first, address
		w.DeliverTo(address)
		w.verifyEvents()
		statuses("live: changes are made")
		w.types("rob", "deny "+attacker)
		w.ephemeral("rob", "accepted")
		require.Len(t, w.entries("acme"), 1)
	})
}

// askedAtShell types a line at a terminal and waits for its question; answer answers that.
func (w *world) askedAtShell(line string) (answer func(string) answered) {
	w.t.Helper()
	environ := w.shell("[]", record.Responder)
	typing, types, err := os.Pipe()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _, _ = typing.Close(), types.Close() })
	asked, done := make(chan struct{}), make(chan answered, 1)
	go func() {
		var said bytes.Buffer
		out := io.MultiWriter(&said, askedWriter{sync.OnceFunc(func() { close(asked) })})
		code := run(w.t.Context(), terminal{args: strings.Fields(line), environ: environ, in: typing, asks: true, out: out, err: out})
		done <- answered{code: code, err: said.String()}
	}()
	select {
	case <-asked:
	case got := <-done:
		require.FailNow(w.t, "it isn't asked", "%+v", got)
	}
	return func(words string) answered {
		_, err := fmt.Fprintln(types, words)
		require.NoError(w.t, err)
		return <-done
	}
}

// A service that lists attacks without end takes no more memory than any other. Status says that not all attacks are
// watched until they are again; incidents are always watched.
func TestTheServiceListsAttacksWithoutEnd(t *testing.T) {
	full.Only(t)
	endless := func(w *world) { require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Kind: "endless"})) }
	story(t, endless, func(t *testing.T, w *world) {
		const capped = `"capped":"over 40,000 attacks in 24 h: only the newest and all incidents are watched"`
		body := ""
		require.Eventually(t, func() bool {
			_, body = w.get("/readyz")
			return strings.Contains(body, capped)
		}, patience, 100*time.Millisecond)
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		_, body = w.get("/metrics")
		require.Contains(t, body, `wafbot_account_capped{account="acme"} 1`)
		w.types("vic", "status")
		w.ephemeral("vic", "Not all attacks are watched: over 40,000 attacks in 24 h")
		w.attack(waf.AttackSpec{Path: "/worked", Hits: 100, Vulnerability: sqlHole()})
		w.card("/worked", "critical incident")

		w.stop()
		w.start()
		w.polls(3)
		_, body = w.get("/readyz")
		require.Contains(t, body, capped, "also after a restart")
		w.stop()
		w.WAF.ClearFaults()
		w.start()
		w.polls(3)
		_, body = w.get("/readyz")
		require.NotContains(t, body, "capped")
	})
}

// lags has the service list what it was ten seconds ago: longer than people take to change their minds.
func lags(w *world) {
	for _, listing := range []string{"GET /v4/ip_rules", "POST /v1/objects/hint", "POST /v1/objects/action"} {
		require.NoError(w.t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: listing, Kind: "lagging"}))
	}
}

// What was done a moment ago and isn't listed yet is taken back for certain.
func TestUndoAtOnceWhileListingsLag(t *testing.T) {
	story(t, lags, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker, "accepted by the service")
		card.undo("rob", "Deny "+attacker)
		card.undone("Rob Diaz")
		require.Empty(t, w.entries("acme"))

		w.types("rob", "patch attack="+card.id())
		w.ephemeral("rob", "Patch exactly POST shop.example.com/login", "accepted by the service")
		require.Len(t, w.rules("acme", "vpatch"), 1)
		card.undo("rob", "Patch exactly")
		w.ephemeral("rob", "Undo of: Patch exactly", "accepted by the service")
		require.Empty(t, w.rules("acme", "vpatch"))

		w.types("rob", "deny 198.51.100.9")
		w.ephemeral("rob", "Deny 198.51.100.9", "accepted by the service")
		w.types("ann", "deny 198.51.100.9 for=1h")
		w.ephemeral("ann", "Done, nothing to change. 198.51.100.9 is denied already")
		w.types("rob", "remove 198.51.100.9")
		w.ephemeral("rob", "Take 198.51.100.9 off the denylist", "accepted by the service")
		require.Empty(t, w.entries("acme"))
		w.types("rob", "remove 198.51.100.9")
		w.ephemeral("rob", "198.51.100.9 is on no list")
	})
}

// A patch whose answer was lost could be made twice: wafbot waits until the listing shows it, and says since when it
// isn't confirmed.
func TestAPatchIsVerifiedWhileListingsLag(t *testing.T) {
	story(t, lags, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "POST /v1/objects/hint/create", Kind: "500_applied", Times: 1}))
		w.types("rob", "patch attack="+card.id())
		card.says("Patch POST shop.example.com/login, Shop only", "being verified")
		w.types("ann", "attack "+card.id())
		w.ephemeral("ann", "Patch exactly POST shop.example.com/login", "being verified")
		w.ephemeral("rob", "Patch exactly POST shop.example.com/login", "accepted by the service")
		card.says("Patch POST shop.example.com/login, Shop", "until")
		require.NotContains(t, card.now().Plain(), "being verified")
		require.Len(t, w.rules("acme", "vpatch"), 1)
	})
}

// Several countries are one entry. One of them is taken off without the others ever being off the list.
func TestOneOfSeveralCountriesIsTakenOff(t *testing.T) {
	prepare := func(w *world) {
		lags(w)
		w.cfg.Policy.Approval.RequiredFor = nil
	}
	story(t, prepare, func(t *testing.T, w *world) {
		w.types("rob", "deny country:FR country:NL country:DE")
		w.confirms("rob", "Deny country:FR, country:NL, country:DE")
		w.ephemeral("rob", "Deny country:FR, country:NL, country:DE", "accepted by the service")
		require.Len(t, w.sent(), 1, "one request")
		w.types("rob", "remove country:NL")
		w.ephemeral("rob", "Take country:NL off the denylist", "accepted by the service")
		sent := w.sent()
		require.Len(t, sent, 3)
		require.Equal(t, []string{http.MethodPost, http.MethodDelete}, []string{sent[1].Method, sent[2].Method})
		require.Len(t, w.entries("acme"), 1)
		require.Equal(t, []string{"DE", "FR"}, w.entries("acme")[0].SourceValues)

		w.types("rob", "deny country:ES for=1h")
		w.confirms("rob", "Deny country:ES")
		w.ephemeral("rob", "Deny country:ES", "accepted by the service")
		w.types("rob", "undo")
		w.ephemeral("rob", "Undo of: Deny country:ES")
		require.Len(t, w.entries("acme"), 1)
	})
}

func TestAFormFromACard(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		open := func() {
			card.opens("rob", "More…", "Patch only", "Deny several")
			w.presses("rob", "Deny several…")
			w.sees("rob", "Sources that the service lists", attacker+" FR", "How long", "4 h")
		}
		open()

		wrong := w.checked("rob", open, map[string]any{"Addresses and ranges": "192.0.2.10, 198.51.100.77"})
		require.Equal(t, workspace.OutcomeErrors, wrong.Outcome)
		require.Contains(t, wrong.Errors["Addresses and ranges"], "192.0.2.10 is in our CDN")
		require.Empty(t, w.sent())
		wrong = w.checked("rob", open, map[string]any{"Addresses and ranges": "198.51.100.x"})
		require.Contains(t, wrong.Errors["Addresses and ranges"], "Invalid IP address or range: 198.51.100.x")
		wrong = w.checked("rob", open, map[string]any{"Addresses and ranges": "", "sources": []string{}})
		require.Len(t, wrong.Errors, 1, "no source at all, and never the top one by itself: %+v", wrong)
		w.redis.away()
		require.Equal(t, workspace.OutcomePushed, w.submits("rob", map[string]any{"Addresses and ranges": "198.51.100.77"}).Outcome, "that is about no field")
		w.sees("rob", "not done: wafbot's store (Redis) can't be reached")
		w.redis.back()
		w.until("Redis is reached again", func() bool { status, _ := w.get("/readyz"); return status == http.StatusOK })
		w.leaves("rob")

		done := w.submits("rob", map[string]any{"sources": []string{attacker, neighbour}, "Addresses and ranges": "198.51.100.77\n198.51.100.78", "How long": "1 h", "Reason": "same botnet"})
		require.Equal(t, workspace.OutcomeCleared, done.Outcome, "%+v", done)
		w.ephemeral("rob", "Deny "+attacker+", "+neighbour+", 198.51.100.77 and 1 more everywhere for 1 h: accepted")
		card.says("198.51.100.77 and 1 more · ", "Rob Diaz", "<@U0ROB0002> is on it")
		require.Len(t, w.entries("acme"), 4)
		require.True(t, w.journal.has(`"via":"form"`, "same botnet", `"outcome":"done"`))

		card.undo("rob", "198.51.100.77 and 1 more")
		w.until("one undo", func() bool { return len(w.entries("acme")) == 0 })
	})
}

func TestWhatIsMissingOpensAForm(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		mute := func() {
			w.types("rob", "mute for=30m")
			w.sees("rob", "Incidents are posted all the same", "30 min")
		}
		mute()
		require.Equal(t, workspace.OutcomeErrors, w.checked("rob", mute, nil).Outcome)
		require.Equal(t, workspace.OutcomeCleared, w.submits("rob", map[string]any{"source": "198.51.100.0/24"}).Outcome)
		w.ephemeral("rob", "Muted: source=198.51.100.0/24")

		w.types("rob", "verdict")
		w.sees("rob", "Verdict: [Choose …]")
		require.Equal(t, workspace.OutcomeIncomplete, w.submits("rob", nil).Outcome, "Slack itself sees what is needed")
		require.Equal(t, workspace.OutcomeCleared, w.submits("rob", map[string]any{"verdict": "real", "attack": card.id()}).Outcome)
		card.says("verdict real, Rob Diaz")

		indicator := func() {
			w.types("rob", "indicator")
			w.sees("rob", "Header: [User-Agent]")
		}
		indicator()
		asked := w.checked("rob", indicator, map[string]any{"regex": "Mozilla", "host": "shop.example.com"})
		require.Equal(t, workspace.OutcomePushed, asked.Outcome)
		w.sees("rob", "Before you do", "browsers")
		w.leaves("rob")
		w.sees("rob", "Mozilla") // what was filled in is still there
		require.Empty(t, w.sent())
		w.leaves("rob")

		// A mention opens no view; its answer has the button that does. Who may not act gets no form.
		w.writes("rob", "#waf", "", "@wafbot deny")
		w.click("rob", w.ephemeral("rob", "Missing: a source"), "Fill in a form…")
		w.sees("rob", "Addresses and ranges")
		card.known()
		w.writes("rob", "#waf", card.ts, "@wafbot verdict")
		w.click("rob", w.ephemeral("rob", "Missing: verdict"), "Fill in a form…")
		w.sees("rob", card.id(), "Verdict: [Choose …]") // of the card in whose thread it was written
		w.types("vic", "deny")
		w.learns("vic", "deny needs the role responder")
		require.Empty(t, w.sent())
	})
}

// Whatever is typed without what it needs opens a form that Slack takes.
func TestEveryVerbWithoutArguments(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		bare := map[string][]string{
			"attack": {card.id()}, "explain": {card.id()}, "ack": {card.id()}, "unack": {card.id()}, "verdict": {"false_positive"},
			"note": {"Text"}, "handover": {"To"}, "mute": {"Source"}, "unmute": nil, "contain": {card.id(), "How long the patch lasts", "7 days"},
			"deny": {"Tor exits (TOR)", "France (FR)", "Amazon Web Services"}, "allow": {"Addresses and ranges", "1 h"}, "gray": {"24 h"}, "remove": {"Entry"},
			"patch": {"What", "without HOST every host", "sqli", "any: every request that has the part"}, "block-path": {"Method", "Place", "30 min"}, "indicator": {"Regular expression"}, "mode": {"Shop", "account: all applications without a mode of their own", "no incidents are seen"},
			"delete-rule": {"Rule"}, "extend": {"How much longer"},
			"approve": {"Request"}, "reject": {"Request"}, "override": {"Request", "Why it can't wait"},
		}
		late := 0
		for verb, parts := range bare {
			w.types("ann", verb)
			if parts == nil {
				continue
			}
			w.until(verb+" opens a form", func() bool {
				if told := len(w.ephemerals("ann", "The form could not be opened in time. Click or type it again")); told > late {
					late = told
					w.types("ann", verb)
				}
				v := w.Slack.OpenView("ann")
				return v != nil && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(string(v.Raw), part) })
			})
			w.leaves("ann")
		}
		require.Empty(t, w.sent())
	})
}

// No view says for ever that wafbot is loading.
func TestAViewThatSlackDoesntTakeAtOnce(t *testing.T) {
	story(t, rough, func(_ *testing.T, w *world) {
		for i, kind := range []string{"ratelimited", "500", "500_posted"} {
			w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: kind, Times: 1})
			w.types("rob", "deny")
			w.sees("rob", "Addresses and ranges")
			w.until("the second try", func() bool { return w.called("views.update") == 2*(i+1) })
			w.leaves("rob")
		}
		w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: "invalid_arguments", Times: 1})
		w.types("rob", "deny")
		w.sees("rob", "The form could not be shown. Without a form it is deny")
		w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: "invalid_arguments"})
		w.types("ann", "verdict")
		w.ephemeral("ann", "The form could not be shown. Without a form it is verdict")
	})
}
