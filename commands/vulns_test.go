package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

	w.refuses(eve, "vulns closed", refusal.ErrUsage, "Invalid word: closed")
	w.fault("POST /v1/objects/vuln", "status:403", 0)
	w.refuses(eve, "vulns", refusal.ErrService, "lacks the permission")
}
