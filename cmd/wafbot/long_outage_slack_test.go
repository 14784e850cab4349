package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

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
				w.start() // another replica goes on with it
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
