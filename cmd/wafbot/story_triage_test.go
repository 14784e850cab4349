package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestTwoPeopleAcknowledge(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker, "Unacknowledged")
		names := w.bothClick(card.now(), "Acknowledge")
		w.until("both are answered", func() bool {
			return len(w.ephemerals("ann", "is on it since")) == 1 && len(w.ephemerals("rob", "is on it since")) == 1
		})
		first, second := "ann", "rob"
		if len(w.ephemerals("ann", "Refused: ")) == 1 {
			first, second = second, first
		}
		require.Len(t, w.ephemerals(first, names[first]+" is on it since"), 1)
		require.Len(t, w.ephemerals(second, names[first]+" is on it since", "handover attack="+card.id()+" to=@me"), 1)
		card.says(map[string]string{"ann": "<@U0ANN0001>", "rob": "<@U0ROB0002>"}[first] + " is on it")
		require.NotContains(t, card.labels(), "Acknowledge")
		require.Empty(t, w.sent())

		w.types("vic", "status")
		w.ephemeral("vic", "Status of acme", card.id(), names[first]+" is on it since")
		w.types("vic", "ack attack="+card.id())
		w.ephemeral("vic", "ack needs the role responder")
	})
}

func TestAMutedSource(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.types("rob", "mute source="+attacker+" for=1h")
		w.ephemeral("rob", "Muted: source="+attacker, "Incidents are posted all the same")
		from := []waf.SourceSpec{{IP: attacker, Country: "FR", PerSecond: 4}}
		w.attack(waf.AttackSpec{Path: "/muted", Sources: from, Started: waf.Duration(time.Minute), Hits: 100})
		w.attack(waf.AttackSpec{Path: "/worked", Sources: from, Started: waf.Duration(time.Minute), Hits: 100, Vulnerability: sqlHole()})
		w.card("critical incident", "/worked")
		w.polls(3)
		require.Empty(t, w.cards("#waf", "/muted"))
		w.types("ann", "unmute source="+attacker)
		w.card("high attack", "/muted")
	})
}

func TestAHandover(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it")
		w.types("rob", `handover to=<@U0ANN0001|ann> attack=`+card.id()+` "I'm off; legal knows"`)
		w.ephemeral("rob", "Anna Weber is on it since", "handed over by Rob Diaz")
		w.until("a reply", func() bool {
			return len(card.replies("<@U0ANN0001>: Rob Diaz hands this attack over to you", "legal knows")) == 1
		})
		card.says("<@U0ANN0001> is on it", "under Details")
		require.False(t, card.replies()[0].Broadcast)

		w.types("rob", "handover to=@nobody attack="+card.id())
		w.ephemeral("rob", "Invalid user: @nobody")
		w.types("rob", "handover to=@vic attack="+card.id())
		w.ephemeral("rob", "Vic Lee has the role viewer")
		w.types("rob", "handover to=@me attack="+card.id())
		w.until("a second reply", func() bool { return len(card.replies("Rob Diaz takes this attack over from <@U0ANN0001>")) == 1 })
		card.says("<@U0ROB0002> is on it")
		require.Len(t, card.replies(), 2)
	})
}

func TestTriageAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	name := osActor().Name
	for _, tt := range []struct{ line, want string }{
		{"ack", name + " is on it since"}, {"note same botnet", "same botnet"}, {"verdict test", "Verdict: test"}, {"mute", "Muted: attack=" + d.attack},
		{"explain", "Muted: attack=" + d.attack}, {"unmute", "No longer muted"}, {"handover to=@me", "is on it since"}, {"unack", "Unacknowledged now"},
	} {
		got := typed(t, d.environ, append(strings.Fields(tt.line), "attack="+d.attack)...)
		require.Equal(t, exitDone, got.code, "%s needs no -y: %+v", tt.line, got)
		require.Contains(t, got.out, tt.want)
	}
	require.Empty(t, d.changes())
	got := typed(t, d.environ, "attack", d.attack, "--json")
	require.Contains(t, string(decode[result](t, got.out).Data), `"same botnet"`)
}

func TestExplain(t *testing.T) {
	story(t, asItIs, func(_ *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it") // so it is known where it is
		w.types("vic", "explain attack="+card.id())
		w.ephemeral("vic", "It goes to channel <#"+w.cfg.Accounts[0].Channel+"> by route 2 and mentions no user", "route 1 takes kind incident: no, kind is attack",
			"route 2 takes kind attack, status not_blocked or partly or unknown, min_hits 30: this one", "Its card is in channel", "It isn't muted")
		w.types("rob", "mute attack="+card.id())
		card.says("muted until", "Rob Diaz")
		w.types("rob", "unmute attack="+card.id())
		w.until("no longer muted", func() bool { return !says(card.now(), "Muted:") })
		blocked := waf.AttackSpec{Path: "/few", Sources: []waf.SourceSpec{{IP: neighbour, PerSecond: 0.0001}}, Hits: 3, Started: waf.Duration(time.Minute)}
		few := w.attack(blocked)
		w.polls(2)
		w.types("vic", "explain attack="+few)
		w.ephemeral("vic", "No route takes it", "no, min_hits is 3", "It has no card yet")
	})
}

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

func sqlHole() *waf.VulnSpec {
	return &waf.VulnSpec{ID: 812, Title: "SQL injection in login", Threat: 90}
}

func TestAnAttackBecomesAnIncident(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		attack := w.attack(injection())
		card := w.card("high attack", attacker)
		require.NoError(t, w.WAF.MakeIncident(attack, *sqlHole()))
		card.says("critical incident", "exploit", "vulnerability 812")
		w.until("a reply", func() bool { return len(card.replies("INCIDENT")) == 1 })
		require.True(t, card.replies("INCIDENT")[0].Broadcast, "the channel sees it")
		w.polls(3)
		require.Len(t, card.replies(), 1)
		require.Len(t, w.cards("#waf"), 1, "it keeps its card")
	})
}

func TestFirstStartAmongManyAttacks(t *testing.T) {
	const old, ongoing = 60, 20
	full := func(w *world) {
		w.cfg.Accounts[0].Routes = []config.Route{{Mention: "U0ANN0001"}}
		w.cfg.Accounts[0].Storm.Over = 100 // each has its card
		orderly(w)
		for i := range old {
			w.attack(waf.AttackSpec{
				Path: fmt.Sprintf("/old/%d", i), Vulnerability: &waf.VulnSpec{Title: "hole"}, Hits: 100,
				Started: waf.Duration(3 * time.Hour), Lasts: waf.Duration(time.Hour),
			})
		}
		for i := range ongoing {
			w.attack(waf.AttackSpec{Path: fmt.Sprintf("/now/%d", i), Hits: 100, Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: attacker, PerSecond: 0.5}}})
		}
	}
	story(t, full, func(t *testing.T, w *world) {
		messages := func() int { return len(w.shown("#waf")) }
		first := w.Slack.Messages("#waf")[0]
		require.True(t, says(first, "20 going on (cards follow, no one is mentioned)", "60 incidents"), first.Plain())
		w.until("all that goes on has a card", func() bool { return messages() >= 1+ongoing })
		w.polls(4)
		require.Len(t, w.cards("#waf", "/now/"), ongoing)
		require.Equal(t, 1+ongoing, messages(), "one message and one card each")
		for _, m := range w.cards("#waf") {
			require.False(t, says(m, "<@U0ANN0001>"), "what went on before mentions no user")
		}
		w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
		w.card("/later", "<@U0ANN0001>")
	})
}

func TestRoutesOfTheConfigurationFile(t *testing.T) {
	routed := func(w *world) {
		account := w.Accounts()[0]
		path := writeConfig(w.t, fmt.Sprintf(`
accounts:
  - name: acme
    api_url: %s
    token: %s
    channel: %s
    poll_interval: 250ms
    applications: {4: Shop, 7: Legacy}
    routes:
      - match: {kind: incident}
        channel: C0RANDOM3
        mention: U0ANN0001
      - match: {application: Legacy, type: [xss, sqli]}
        channel: C0WAF0002
        mention: S0ONCALL1
      - match: {kind: attack, min_hits: 500}
`, account.APIURL, account.Token, account.Channel))
		var environ []string
		for _, entry := range w.Env() {
			if !strings.HasPrefix(entry, "WAFBOT_API_") && !strings.HasPrefix(entry, "WAFBOT_CHANNEL") && !strings.HasPrefix(entry, "WAFBOT_REDIS") {
				environ = append(environ, entry)
			}
		}
		cfg, err := config.Load(path, append(environ, "WAFBOT_REDIS_URL="+w.redis.url))
		require.NoError(w.t, err)
		w.cfg = cfg
	}
	story(t, routed, func(t *testing.T, w *world) {
		w.attack(waf.AttackSpec{App: 4, Path: "/worked", Vulnerability: sqlHole(), Hits: 10, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 7, Path: "/legacy", Hits: 10, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 4, Path: "/few", Hits: 100, Started: waf.Duration(time.Minute)})
		w.attack(waf.AttackSpec{App: 4, Path: "/many", Hits: 600, Started: waf.Duration(time.Minute)})
		w.cardIn("#random", "/worked", "<@U0ANN0001>")
		w.cardIn("#waf-globex", "/legacy", "<!subteam^S0ONCALL1>")
		card := w.card("/many")
		require.False(t, says(card.now(), "<@"), "no user is mentioned here")
		w.polls(3)
		require.Len(t, w.cards("#waf"), 1)
		require.Len(t, w.cards("#random"), 1)
		require.Len(t, w.cards("#waf-globex"), 1)
	})
}

// One id leads from a click through every call of the service and of Slack that came of it, in the log and in the audit entry: also those that are made
// after it was answered, by what notifies and redraws.
func TestOneRequestInTheLog(t *testing.T) {
	story(t, func(w *world) { w.cfg.Log.Level = "debug" }, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("SQL injection", attacker)
		card.click("rob", "Deny "+attacker)
		w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service")
		entry := regexp.MustCompile(`\{"audit":\{[^\n]*"outcome":"done"[^\n]*"request_id":"(\w+)"`)
		w.until("an audit entry", func() bool { return entry.MatchString(w.journal.String()) })
		id := entry.FindStringSubmatch(w.journal.String())[1]
		for _, call := range []string{`msg="called the service" account=acme call="add to IP list"`, "method=chat.update", "method=chat.postMessage"} {
			w.until(call, func() bool { return w.journal.has(call, "request_id="+id) })
		}
		w.types("vic", "deny 203.0.113.9")
		w.ephemeral("vic", "responder")
		w.until("another", func() bool { return strings.Contains(w.journal.String(), `"outcome":"refused"`) })
		refused := regexp.MustCompile(`"outcome":"refused"[^\n]*"request_id":"(\w+)"`).FindStringSubmatch(w.journal.String())
		require.NotNil(t, refused)
		require.NotEqual(t, id, refused[1])
	})
}

// While nobody knows whether one user's denial took place, another user's clicks on other targets are carried out at once; who wants the same target
// waits, and reads who did it.
func TestAStuckTargetHoldsNoOther(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.rough = true
		require.NoError(t, w.WAF.SetFault(waf.Fault{Endpoint: "POST /v4/ip_rules", Kind: "status:500"}))
		w.types("rob", "deny 198.51.100.1")
		w.until("a request", func() bool { return len(w.sent()) > 0 })
		w.types("ann", "patch shop.example.com/login type=sqli part=post.form_urlencoded.login for=2d")
		w.ephemeral("ann", "Patch exactly", "accepted by the service")
		w.types("ann", "deny 198.51.100.1")
		require.Empty(t, w.ephemerals("rob", "accepted by the service"))
		require.Empty(t, w.ephemerals("ann", "198.51.100.1"))
		w.WAF.ClearFaults()
		w.ephemeral("rob", "Deny 198.51.100.1", "accepted by the service")
		w.ephemeral("ann", "198.51.100.1", "by Rob Diaz")
		require.Len(t, w.entries("acme"), 1)
	})
}
