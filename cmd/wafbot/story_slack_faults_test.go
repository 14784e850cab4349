package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

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
