package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// sooner has mitigations judged sooner than those of the real service, in the story's world, which is faster still.
func sooner(w *world) { w.speed = 60 }

// allows is what a person does in the service's console: the source is allowed for an hour.
func (w *world) allows(subnet string) {
	w.t.Helper()
	_, err := w.WAF.SeedIPRule("acme", waf.IPRule{RuleType: "ip_range", List: "white", Subnet: subnet, Pools: []int{0}, ExpiredAt: time.Now().Add(time.Hour).Unix()})
	require.NoError(w.t, err)
}

// asks types a line until it is answered so. A last hit that is listed late takes back for a while that a mitigation works.
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

// pausing starts an attack that sends next to nothing until it goes on: what denies it has nothing to stop, else it would be one that works no longer.
func (w *world) pausing(spec waf.AttackSpec) (goesOn func()) {
	w.t.Helper()
	const slower = 1000
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
		w.types("ann", "deny 198.51.100.96") // after a change what is in force is read again
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
