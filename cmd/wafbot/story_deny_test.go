package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

		// What is in force is read slowly: the card has to follow once more.
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
