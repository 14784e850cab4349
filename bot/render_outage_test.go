package bot

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

func acme() Account {
	return Account{Account: &commands.Account{Name: "acme", Lookback: 24 * time.Hour, ConsoleURL: "https://console.example.com", Applications: map[int]commands.Application{4: {Name: "Shop"}}}}
}

func outageMessages() map[string]Message {
	since := now.Add(-20 * time.Minute)
	spell := poller.Spell{Since: since, Why: "the service refuses the token"}
	on, over := injection(), injection()
	on.VulnID, over.ID, over.Path, over.Last = "812", "x:over", "/search", now.Add(-5*time.Minute)
	gap := poller.GapFacts{
		From: since, To: now, Why: "the service can't be reached", Began: []apiclient.Attack{on}, BeganCount: 1, Over: slices.Repeat([]apiclient.Attack{over}, 20), OverCount: 31,
	}
	absent := poller.GapFacts{From: now.Add(-50 * time.Hour), To: now}
	never := poller.BlindFacts{Spell: poller.Spell{Since: since, Why: "the service can't be reached"}}
	return map[string]Message{
		"blind":           blindMessage(acme(), poller.BlindFacts{Spell: spell, LastGood: since.Add(-15 * time.Second), Mend: "who manages the tokens makes a new one"}),
		"blind-from-then": blindMessage(acme(), never),
		"gap":             gapMessage(acme(), gap, now),
		"gap-long-absent": gapMessage(acme(), absent, now),
	}
}

func TestRenderOutages(t *testing.T) {
	t.Parallel()
	messages := outageMessages()
	var notices strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		requireFits(t, messages[name])
		require.LessOrEqual(t, len(messages[name].Text), maxNotice, name)
		notices.WriteString(name + ": " + messages[name].Text + "\n")
		golden(t, filepath.Join("testdata", "outage", name+".json"), pretty(t, messages[name]))
	}
	golden(t, filepath.Join("testdata", "outage", "notifications.txt"), notices.String())
}

func TestRenderOutagesOfHostileAttacks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("a", 10_000), strings.Repeat("<!channel>", 1_000), strings.Repeat("* `", 3_000), "\u202e\x00"} {
		c := hostile(text)
		all := slices.Repeat([]apiclient.Attack{c.Situation.Attack}, 20)
		a := acme()
		a.Name = text
		requireFits(t, gapMessage(a, poller.GapFacts{To: now, Why: text, Began: all, BeganCount: 30, Over: all, OverCount: 30}, now))
		requireFits(t, blindMessage(a, poller.BlindFacts{Spell: poller.Spell{Why: text}, Mend: text}))
	}
}
