package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// loudest is the source behind the emulated world's storm.
const loudest = "198.51.100.23"

// oneLoudSource starts so many attacks of one source, of which all but four are blocked: these come from others and get through.
func (w *world) oneLoudSource(n int) {
	w.t.Helper()
	for i := range n {
		spec := waf.AttackSpec{App: -1, Path: fmt.Sprint("/catalog/", i), Started: waf.Duration(time.Minute), Sources: []waf.SourceSpec{{IP: loudest, Country: "NL", PerSecond: 1}}}
		if i < 4 {
			spec.App, spec.Sources = 4, []waf.SourceSpec{{IP: fmt.Sprint("203.0.113.", 200+i), Country: "PL", PerSecond: float64(4 - i)}}
		}
		w.attack(spec)
	}
}

// A storm as a person at night meets it: one card, one click that stops most of it, and the list of it all.
func TestAStormAndItsCard(t *testing.T) {
	all := func(w *world) { w.cfg.Accounts[0].Routes = []config.Route{{}} } // those that are blocked, too
	story(t, all, func(t *testing.T, w *world) {
		const grouped = 40
		w.unlisted(func() { w.oneLoudSource(grouped) })
		card := w.card("4 of 40 NOT BLOCKED", "high storm", "Not blocked:")
		require.Equal(t, "storm", factsOf(card.now()).Payload.Kind)
		id := card.id()
		require.Equal(t, "s", id[:1])
		card.says("203.0.113.200 PL is in 1 of these 4", "List the 4")
		card.says(fmt.Sprintf("%d attacks, %d still active", grouped, grouped))

		w.typesIn("#waf", "vic", "attacks storm="+id)
		w.ephemeral("vic", id+" 4 of 40 NOT BLOCKED · high storm", "Next page")
		const top = "203.0.113.200"
		card.click("rob", "Deny "+top)
		w.ephemeral("rob", "Deny "+top+" everywhere for 4 h: accepted by the service")
		card.says("Deny "+top+" · ", "Rob Diaz", "<@U0ROB0002> is on it", "Deny 203.0.113.201")
		require.Len(t, w.entries("acme"), 1)
		w.until("denial in force", func() bool { return w.WAF.Denied("acme", top) })

		card.click("rob", "List the 4")
		w.ephemeral("rob", id+" 4 of 40 NOT BLOCKED · high storm")

		list := w.atShell("attacks", "storm="+id, "--all", "--json")
		require.Equal(t, exitDone, list.code, list.err)
		var answer struct {
			Data []struct {
				Storm string `json:"storm"`
				Own   bool   `json:"own_card"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(list.out), &answer))
		for _, row := range answer.Data {
			require.Equal(t, id, row.Storm)
			require.False(t, row.Own)
		}
		require.Len(t, answer.Data, grouped)

		w.types("vic", "explain attack="+id)
		w.ephemeral("vic", "Why one card: more than 10 new attacks came in 1 min", "It isn't muted")
		w.types("vic", "status")
		w.ephemeral("vic", "Going on: 1 storm", "4 of 40 NOT BLOCKED · high storm", "and 1 more application", "Rob Diaz is on it")
		card.opens("rob", "More…", "List…", "Deny several…", "Mute "+loudest, "Report…")
		require.NotContains(t, strings.Join(card.labels(), " "), "patch")
		w.presses("rob", "List…")
		w.sees("rob", id+" 4 of 40 NOT BLOCKED · high storm")
	})
}
