package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// writes has a user write a message: in a channel, in a thread of it, or, without a channel, to the bot alone.
func (w *world) writes(user, channel, thread, text string) workspace.Message {
	w.t.Helper()
	m, err := w.Slack.Say(workspace.Saying{User: user, Channel: channel, ThreadTS: thread, Text: text})
	require.NoError(w.t, err)
	return m
}

// known waits until the bot has written down where its card is, which takes it some time after Slack shows the card.
func (c shownCard) known() {
	c.w.t.Helper()
	opened, err := store.Open(store.Config{Address: address.Options{URL: c.w.redis.url}})
	require.NoError(c.w.t, err)
	defer opened.Close()
	require.Eventually(c.w.t, func() bool {
		attack, err := opened.Cards.AttackAt(c.w.t.Context(), "acme", c.now().Channel, c.ts)
		return err == nil && attack != ""
	}, patience, 10*time.Millisecond)
}

// heard waits until the bot has acknowledged all events.
func (w *world) heard() {
	w.t.Helper()
	w.until("events acknowledged", func() bool {
		for _, e := range w.Slack.Events() {
			if !e.Done {
				return false
			}
		}
		return true
	})
}

func TestLinesInMentions(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)

		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99 for=1h")
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 1 h: accepted by the service")
		w.message("#waf", "Deny 198.51.100.99 everywhere for 1 h · Rob Diaz")
		require.True(t, w.journal.has(`"via":"mention"`, "deny 198.51.100.99"))

		w.writes("vic", "#waf", "", "@wafbot")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		w.writes("vic", "", "", "attacks since=2h")
		w.ephemeral("vic", "acme: 1 attack in the last 2 h")
		w.writes("vic", "#waf", "", "@wafbot deny 198.51.100.98")
		w.ephemeral("vic", "deny needs the role responder")
		w.writes("eve", "#waf", "", "@wafbot status")
		w.ephemeral("eve", "You have no role here")
		w.writes("rob", "#waf", "", "@wafbot dney 198.51.100.98")
		w.ephemeral("rob", "Unknown command: dney (did you mean deny?)")

		// Slash commands don't work in threads; there the card's attack need not be written.
		w.writes("rob", "#waf", card.ts, "@wafbot note \"asked the <team>\"")
		card.says("under Details")
		w.writes("rob", "#waf", card.ts, "@wafbot `deny`")
		answer := w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service")
		require.Equal(t, card.ts, answer.ThreadTS, "answered where it was asked")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.writes("rob", "#waf", card.ts, "@wafbot status")
		w.until("an answer in the thread", func() bool {
			for _, m := range w.ephemerals("rob", "Status of acme", "Going on: 1 attack") {
				if m.ThreadTS == card.ts {
					return true
				}
			}
			return false
		})
		require.Len(t, w.entries("acme"), 2)
	})
}

func TestAMentionAsksOnce(t *testing.T) {
	everything := func(w *world) { w.Slack.Subscribe("app_mention", "message.channels", "message.im") }
	story(t, everything, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.known()
		// It comes as a mention and as a message, and each of them twice.
		w.Slack.SetFault(workspace.Fault{Kind: "duplicate_delivery"})
		w.writes("rob", "#waf", card.ts, "@wafbot note \"seen\"")
		card.says("under Details")
		w.writes("rob", "#waf", "", "@wafbot whoami")
		w.ephemeral("rob", "Rob Diaz: responder")
		w.heard()
		w.Slack.ClearFaults()
		w.writes("rob", "#waf", "", "@wafbot attack "+card.id())
		require.Len(t, w.ephemerals("rob", "Rob Diaz: responder"), 1)
		answer := w.ephemeral("rob", "First hit", "seen")
		require.Equal(t, 1, strings.Count(answer.Plain(), "Note of Rob Diaz"))
	})
}

func TestWhatAsksForNothing(t *testing.T) {
	everything := func(w *world) { w.Slack.Subscribe("app_mention", "message.channels", "message.im") }
	story(t, everything, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker) // the bot's own posts come back to it
		w.writes("rob", "#waf", "", "don't @wafbot deny 198.51.100.99 yet")
		w.ephemeral("rob", "Did you want something of me?", "Nothing was done")
		said := w.writes("rob", "#waf", "", "deny 198.51.100.99")
		require.NoError(t, w.Slack.Edit("rob", "#waf", said.TS, "@wafbot deny 198.51.100.99"))
		said = w.writes("rob", "#waf", "", "@wafbot whoami")
		w.ephemeral("rob", "Rob Diaz: responder")
		require.NoError(t, w.Slack.Edit("rob", "#waf", said.TS, "@wafbot deny 198.51.100.99"))
		w.writes("rob", "#waf", card.ts, "deny")
		w.heard()
		w.writes("vic", "", "", "status")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		require.Empty(t, w.sent())
		require.Len(t, w.ephemerals("rob"), 2)
		require.Len(t, w.Slack.Messages("#waf"), 6, "two of the bot's, four of Rob's")
	})
}

// A replica starts while Slack doesn't say who wafbot is. A mention is acknowledged in time and kept as any line is:
// its event says whom it names.
func TestAMentionWhileAuthTestHangs(t *testing.T) {
	hangs := func(w *world) {
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Method: "auth.test", Kind: "timeout"})
	}
	story(t, hangs, func(t *testing.T, w *world) {
		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99")
		w.ephemeral("rob", "Refused: Slack doesn't say who you are just now", "Try again in a moment")
		w.heard()
		for _, e := range w.Slack.Events() {
			for _, attempt := range e.Attempts {
				require.True(t, attempt.Acked, "%+v", attempt)
			}
		}
		w.Slack.ClearFaults()
		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99")
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 4 h: accepted by the service")
		require.Len(t, w.entries("acme"), 1)
	})
}
