package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestAFormFromACard(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		open := func() {
			card.opens("rob", "More…", "Patch only", "Deny several")
			w.presses("rob", "Deny several…")
			w.sees("rob", "Sources that the service lists", attacker+" FR", "How long", "4 h")
		}
		open()

		wrong := w.checked("rob", open, map[string]any{"Addresses and ranges": "192.0.2.10, 198.51.100.77"})
		require.Equal(t, workspace.OutcomeErrors, wrong.Outcome)
		require.Contains(t, wrong.Errors["Addresses and ranges"], "192.0.2.10 is in our CDN")
		require.Empty(t, w.sent())
		wrong = w.checked("rob", open, map[string]any{"Addresses and ranges": "198.51.100.x"})
		require.Contains(t, wrong.Errors["Addresses and ranges"], "Invalid IP address or range: 198.51.100.x")
		wrong = w.checked("rob", open, map[string]any{"Addresses and ranges": "", "sources": []string{}})
		require.Len(t, wrong.Errors, 1, "no source at all, and never the top one by itself: %+v", wrong)
		w.redis.away()
		require.Equal(t, workspace.OutcomePushed, w.submits("rob", map[string]any{"Addresses and ranges": "198.51.100.77"}).Outcome, "that is about no field")
		w.sees("rob", "not done: wafbot's store (Redis) can't be reached")
		w.redis.back()
		w.until("Redis is reached again", func() bool { status, _ := w.get("/readyz"); return status == http.StatusOK })
		w.leaves("rob")

		done := w.submits("rob", map[string]any{"sources": []string{attacker, neighbour}, "Addresses and ranges": "198.51.100.77\n198.51.100.78", "How long": "1 h", "Reason": "same botnet"})
		require.Equal(t, workspace.OutcomeCleared, done.Outcome, "%+v", done)
		w.ephemeral("rob", "Deny "+attacker+", "+neighbour+", 198.51.100.77 and 1 more everywhere for 1 h: accepted")
		card.says("198.51.100.77 and 1 more · ", "Rob Diaz", "<@U0ROB0002> is on it")
		require.Len(t, w.entries("acme"), 4)
		require.True(t, w.journal.has(`"via":"form"`, "same botnet", `"outcome":"done"`))

		card.undo("rob", "198.51.100.77 and 1 more")
		w.until("one undo", func() bool { return len(w.entries("acme")) == 0 })
	})
}

func TestWhatIsMissingOpensAForm(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		mute := func() {
			w.types("rob", "mute for=30m")
			w.sees("rob", "Incidents are posted all the same", "30 min")
		}
		mute()
		require.Equal(t, workspace.OutcomeErrors, w.checked("rob", mute, nil).Outcome)
		require.Equal(t, workspace.OutcomeCleared, w.submits("rob", map[string]any{"source": "198.51.100.0/24"}).Outcome)
		w.ephemeral("rob", "Muted: source=198.51.100.0/24")

		w.types("rob", "verdict")
		w.sees("rob", "Verdict: [Choose …]")
		require.Equal(t, workspace.OutcomeIncomplete, w.submits("rob", nil).Outcome, "Slack itself sees what is needed")
		require.Equal(t, workspace.OutcomeCleared, w.submits("rob", map[string]any{"verdict": "real", "attack": card.id()}).Outcome)
		card.says("verdict real, Rob Diaz")

		indicator := func() {
			w.types("rob", "indicator")
			w.sees("rob", "Header: [User-Agent]")
		}
		indicator()
		asked := w.checked("rob", indicator, map[string]any{"regex": "Mozilla", "host": "shop.example.com"})
		require.Equal(t, workspace.OutcomePushed, asked.Outcome)
		w.sees("rob", "Before you do", "browsers")
		w.leaves("rob")
		w.sees("rob", "Mozilla") // what was filled in is still there
		require.Empty(t, w.sent())
		w.leaves("rob")

		// A mention opens no view; its answer has the button that does. Who may not act gets no form.
		w.writes("rob", "#waf", "", "@wafbot deny")
		w.click("rob", w.ephemeral("rob", "Missing: a source"), "Fill in a form…")
		w.sees("rob", "Addresses and ranges")
		card.known()
		w.writes("rob", "#waf", card.ts, "@wafbot verdict")
		w.click("rob", w.ephemeral("rob", "Missing: verdict"), "Fill in a form…")
		w.sees("rob", card.id(), "Verdict: [Choose …]") // of the card in whose thread it was written
		w.types("vic", "deny")
		w.learns("vic", "deny needs the role responder")
		require.Empty(t, w.sent())
	})
}

// Whatever is typed without what it needs opens a form that Slack takes.
func TestEveryVerbWithoutArguments(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		bare := map[string][]string{
			"attack": {card.id()}, "explain": {card.id()}, "ack": {card.id()}, "unack": {card.id()}, "verdict": {"false_positive"},
			"note": {"Text"}, "handover": {"To"}, "mute": {"Source"}, "unmute": nil, "contain": {card.id(), "How long the patch lasts", "7 days"},
			"deny": {"Tor exits (TOR)", "France (FR)", "Amazon Web Services"}, "allow": {"Addresses and ranges", "1 h"}, "gray": {"24 h"}, "remove": {"Entry"},
			"patch": {"What", "without HOST every host", "sqli", "any: every request that has the part"}, "block-path": {"Method", "Place", "30 min"}, "indicator": {"Regular expression"}, "mode": {"Shop", "account: all applications without a mode of their own", "no incidents are seen"},
			"delete-rule": {"Rule"}, "extend": {"How much longer"},
			"approve": {"Request"}, "reject": {"Request"}, "override": {"Request", "Why it can't wait"},
		}
		late := 0
		for verb, parts := range bare {
			w.types("ann", verb)
			if parts == nil {
				continue
			}
			w.until(verb+" opens a form", func() bool {
				if told := len(w.ephemerals("ann", "The form could not be opened in time. Click or type it again")); told > late {
					late = told
					w.types("ann", verb)
				}
				v := w.Slack.OpenView("ann")
				return v != nil && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(string(v.Raw), part) })
			})
			w.leaves("ann")
		}
		require.Empty(t, w.sent())
	})
}

// No view says for ever that wafbot is loading.
func TestAViewThatSlackDoesntTakeAtOnce(t *testing.T) {
	story(t, rough, func(_ *testing.T, w *world) {
		for i, kind := range []string{"ratelimited", "500", "500_posted"} {
			w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: kind, Times: 1})
			w.types("rob", "deny")
			w.sees("rob", "Addresses and ranges")
			w.until("the second try", func() bool { return w.called("views.update") == 2*(i+1) })
			w.leaves("rob")
		}
		w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: "invalid_arguments", Times: 1})
		w.types("rob", "deny")
		w.sees("rob", "The form could not be shown. Without a form it is deny")
		w.Slack.SetFault(workspace.Fault{Method: "views.update", Kind: "invalid_arguments"})
		w.types("ann", "verdict")
		w.ephemeral("ann", "The form could not be shown. Without a form it is verdict")
	})
}
