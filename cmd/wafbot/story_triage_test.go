package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
