package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// briefly lets Slack refuse calls, and attacks be over two seconds after their last hit.
func briefly(w *world) {
	w.rough = true
	w.cfg.Accounts[0].OngoingFor = 2 * time.Second
}

// While Slack is away much happens; what comes afterwards is one card an attack, incidents first, with the newest figures.
func TestSlackIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"500", "500_posted", "ratelimited", "token_revoked"} {
		t.Run(kind, func(t *testing.T) {
			ways := []workspace.Ingress{workspace.IngressHTTP}
			storyOver(t, ways, briefly, func(t *testing.T, w *world) {
				method := ""
				if kind == "500_posted" {
					method = "chat.postMessage"
				}
				w.Slack.SetFault(workspace.Fault{Method: "conversations.history", Kind: "500"})
				w.Slack.SetFault(workspace.Fault{Method: method, Kind: kind})
				other := w.attack(waf.AttackSpec{Path: "/other", Hits: 100, Started: waf.Duration(time.Minute)})
				w.until("the first is not told", func() bool { return w.journal.has("tell news", `reason="new attack"`) })
				login := w.attack(injection())
				w.polls(2)
				require.NoError(t, w.WAF.AddHits(login, 10_000))
				w.polls(2)
				require.NoError(t, w.WAF.MakeIncident(login, *sqlHole()))
				require.NoError(t, w.WAF.StopAttack(other))
				w.polls(12) // three seconds: it is over
				told := len(w.Slack.Messages("#waf"))
				w.stop()
				w.start() // somebody else has to make the best of it
				w.polls(2)
				w.Slack.ClearFaults()

				card := w.card("/login", "INCIDENT", "It worked")
				require.Regexp(t, `1\d,\d\d\d hits`, card.now().Plain(), "the newest figures")
				over := w.card("/other")
				over.says("Quiet")
				if told == 1 { // nothing was posted while Slack said that it wasn't
					require.Less(t, card.ts, over.ts, "incidents first")
				}
				w.polls(8)
				require.Equal(t, 1, len(w.cards("#waf", "/login")))
				require.Equal(t, 1, len(w.cards("#waf", "/other")))
				require.Empty(t, over.replies())
				if told == 1 {
					require.Zero(t, len(card.replies()), "the card says it: %s", w.all())
				}
				require.Len(t, w.Slack.Messages("#waf"), 3+len(card.replies()))
			})
		})
	}
}

// A card that is there when the channel is cut off: afterwards one reply says the newest, and the worst.
func TestSlackIsAwayWhileACardIsThere(t *testing.T) {
	storyOver(t, []workspace.Ingress{workspace.IngressHTTP}, rough, func(t *testing.T, w *world) {
		login := w.attack(injection())
		card := w.card("/login")
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		require.NoError(t, w.WAF.AddHits(login, 20_000))
		w.until("it got worse", func() bool { return w.journal.has("tell news", "reason=worsened") })
		require.NoError(t, w.WAF.MakeIncident(login, *sqlHole()))
		w.polls(4)
		w.Slack.ClearFaults()
		card.says("INCIDENT")
		w.until("a reply", func() bool { return len(card.replies()) > 0 })
		w.until("nothing is left to tell", func() bool { return w.journal.has("the card or another reply says it", "reason=worsened") })
		w.polls(4)
		require.Len(t, card.replies(), 1)
		require.Len(t, card.replies("INCIDENT now", "20,"), 1, card.replies()[0].Plain())
		require.Len(t, w.cards("#waf"), 1)
	})
}
