package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

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
