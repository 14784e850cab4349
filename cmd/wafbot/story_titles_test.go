package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// Incidents while only the listing of vulnerabilities hangs or fails: no card waits for it, and the titles appear by themselves.
func TestCardsDoNotWaitForTitles(t *testing.T) {
	const incidents, listing = 20, "/v1/objects/vuln"
	fast := func(w *world) {
		w.cfg.Slack.MessagesPerSecond, w.cfg.Slack.EditsPerMinute = 0, 10_000
		w.Slack.SetRateLimits(false)
	}
	readings := func(w *world) int {
		return len(slices.DeleteFunc(w.WAF.Requests("acme"), func(r waf.Request) bool { return r.Path != listing }))
	}
	hole := func(i int) string { return fmt.Sprintf("“hole %d”", 100+i) }
	for _, kind := range []string{"hang", "status:503"} {
		t.Run(kind, func(t *testing.T) {
			storyOver(t, eitherWay(), fast, func(t *testing.T, w *world) {
				require.NoError(t, w.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: listing, Kind: kind}))
				for i := range incidents {
					w.attack(waf.AttackSpec{
						Path: fmt.Sprintf("/worked/%d", 100+i), Hits: 100, Vulnerability: &waf.VulnSpec{ID: 100 + i, Title: fmt.Sprintf("hole %d", 100+i)},
					})
				}
				w.until("all cards", func() bool { return len(w.cards("#waf", "INCIDENT", "It worked")) == incidents })
				require.Zero(t, w.count("#waf", "“hole"), "none is known")
				require.Less(t, readings(w), incidents/2, "no card waits for its own")
				w.WAF.ClearFaults()
				for i := range incidents {
					w.card(fmt.Sprintf("/worked/%d", 100+i), hole(i))
				}
				require.Less(t, readings(w), incidents, "one serves all")
			})
		})
	}
}
