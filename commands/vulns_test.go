package commands_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestVulns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812, Threat: 90, Title: "SQL injection \u202ein login"}})
	res := w.reads(eve, "vulns")
	require.Contains(t, textOf(res), "acme: 2 open security issues\n")
	require.Contains(t, textOf(res), `812 high (threat 90) SQL injection \u{202e}in login, open, 1 incident: POST shop.example.com/login`)
	require.Contains(t, textOf(res), "medium (threat 60) Reflected XSS in search, open, 0 incidents: GET shop.example.com/search")
	require.Less(t, strings.Index(textOf(res), "SQL injection"), strings.Index(textOf(res), "Reflected"), "the most severe first")
	require.NotContains(t, textOf(res), "Open redirect")

	all := w.reads(eve, "vulns ALL")
	require.Contains(t, textOf(all), "acme: 3 security issues\n")
	require.Contains(t, textOf(all), "Open redirect after login, closed")
	require.Less(t, strings.Index(textOf(all), "Reflected"), strings.Index(textOf(all), "Open redirect"), "closed ones last")
	require.Len(t, w.program("vulns")["data"], 2)
	require.Equal(t, "812", w.program("vulns")["data"].([]any)[0].(map[string]any)["id"])

	w.refuses(eve, "vulns closed", refusal.ErrUsage, "Invalid issue: closed. all, or the id of one. Example: vulns 812")
	w.fault("POST /v1/objects/vuln", "status:403", 0)
	w.refuses(eve, "vulns", refusal.ErrService, "lacks the permission")
}

// An issue is shown with its incidents, and each of these with its attack's id and card.
func TestAVulnerabilityWithItsIncidents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	vuln := &waf.VulnSpec{ID: 812, Threat: 90, Title: "SQL injection in login"}
	first, second := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: vuln}), w.attack(waf.AttackSpec{App: 4, Path: "/search", Vulnerability: vuln})
	other := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 8125}})
	w.cfg.CardLinks = func(context.Context, string, []string) map[string]string {
		return map[string]string{second: "https://acme.slack.com/archives/C1/p2"}
	}
	w.Runner = commands.New(w.cfg)
	for _, typed := range []string{"812", "issue-812"} {
		said := textOf(w.reads(eve, "vulns "+typed))
		require.Contains(t, said, "acme: 812 high (threat 90) SQL injection in login, open, 2 incidents: POST shop.example.com/login\n")
		require.Contains(t, said, "Found by passive, target server, in the console ISSUE-812, field login\n2 incidents in the last 30 days\n")
		require.Contains(t, said, "• "+first+" INCIDENT SQL injection on Shop")
		require.Contains(t, said, "• "+second+" card https://acme.slack.com/archives/C1/p2 INCIDENT SQL injection on Shop")
		require.NotContains(t, said, other)
	}
	require.Contains(t, textOf(w.reads(eve, "attack "+first)), "vulnerability 812. Assume data was read. vulns 812 shows it with its incidents")
	require.Contains(t, textOf(w.reads(eve, "attack "+first)), "2 sources, answered 200, 500")
	data := w.program("vulns 812")["data"].(map[string]any)
	require.Equal(t, "812", data["vulnerability"].(map[string]any)["id"])
	require.Len(t, data["incidents"], 2)

	w.refuses(eve, "vulns 813", refusal.ErrUsage, "Unknown security issue: 813. vulns all lists them")
	w.refuses(eve, "vulns 812<!channel>", refusal.ErrUsage, "Invalid issue")
	found := w.program("vulns")["data"].([]any)
	none := textOf(w.reads(eve, "vulns "+found[len(found)-1].(map[string]any)["id"].(string)))
	require.Contains(t, none, "Found by scanner, target client")
	require.True(t, strings.HasSuffix(none, "\n0 incidents in the last 30 days"), "other ways of detection find none: %s", none)
}

// What can't be read is unknown, and costs nothing of the rest.
func TestAVulnerabilityOfWhichNotAllIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812}})
	w.fault("POST /v1/objects/vuln", "status:403", 1)
	said := textOf(w.reads(eve, "vulns 812"))
	require.Contains(t, said, "acme: 812, an issue of which nothing else is known: the service doesn't allow this")
	require.Contains(t, said, "1 incident in the last 30 days; whether there are older ones is unknown: incidents since=90d lists all\n• "+id)
	w.fault("POST /v1/objects/attack", "status:403", 1)
	said = textOf(w.reads(eve, "vulns 812"))
	require.Contains(t, said, "acme: 812 high (threat 90) SQL Injection in /login, open, 1 incident")
	require.Contains(t, said, "Its incidents are unknown: the service doesn't allow this")
	require.NotContains(t, said, "0 incidents")
	w.fault("", "status:403", 0)
	w.refuses(eve, "vulns 812", refusal.ErrService, "lacks the permission")
}
