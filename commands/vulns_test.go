package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestVulns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812, Threat: 90, Title: "SQL injection \u202ein login"}})
	res := w.reads(eve, "vulns")
	require.Contains(t, text(res), "acme: 2 open security issues\n")
	require.Contains(t, text(res), `812 high (threat 90) SQL injection \u{202e}in login, open, 1 incident: POST shop.example.com/login`)
	require.Contains(t, text(res), "medium (threat 60) Reflected XSS in search, open, 0 incidents: GET shop.example.com/search")
	require.Less(t, strings.Index(text(res), "SQL injection"), strings.Index(text(res), "Reflected"), "the most severe first")
	require.NotContains(t, text(res), "Open redirect")

	all := w.reads(eve, "vulns ALL")
	require.Contains(t, text(all), "acme: 3 security issues\n")
	require.Contains(t, text(all), "Open redirect after login, closed")
	require.Less(t, strings.Index(text(all), "Reflected"), strings.Index(text(all), "Open redirect"), "closed ones last")
	require.Len(t, w.program("vulns")["data"], 2)
	require.Equal(t, "812", w.program("vulns")["data"].([]any)[0].(map[string]any)["id"])

	w.refuses(eve, "vulns closed", commands.ErrUsage, "is none of all")
	w.fault("POST /v1/objects/vuln", "status:403", 0)
	w.refuses(eve, "vulns", commands.ErrService, "lacks the permission")
}
