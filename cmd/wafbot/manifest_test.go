package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

func TestManifest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		base string
		says string // beside the link
	}{
		{"Socket Mode", nil, "", "an app token with the scope connections:write"},
		{"HTTP", []string{"--url", "https://waf.example.com"}, "https://waf.example.com", "its signing secret"},
		{"a slash at the end", []string{"--url=https://waf.example.com:8443/"}, "https://waf.example.com:8443", "its signing secret"},
		{"loopback, for trying", []string{"--url", "http://127.0.0.1:8080"}, "http://127.0.0.1:8080", "its signing secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := typed(t, nil, append([]string{"manifest"}, tt.args...)...)
			require.Equal(t, exitDone, got.code, "%+v", got)
			require.Equal(t, slackconn.Manifest(tt.base), got.out, "nothing else, so that it can be piped")
			intro, link, _ := strings.Cut(strings.TrimSpace(got.err), "\n")
			require.Contains(t, intro, "Open this to create the app")
			require.Contains(t, intro, tt.says)
			require.Equal(t, slackconn.ManifestLink(got.out), link)
		})
	}
}

func TestManifestRefusesAWrongAddress(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"waf.example.com":                 "is no web address; write it like https://wafbot.example.com",
		"ftp://waf.example.com":           "is no web address",
		"https://":                        "is no web address",
		"https://a b":                     "is no web address",
		"http://waf.example.com":          "must begin with https://",
		"https://waf.example.com/slack":   "must end behind the host",
		"https://waf.example.com/slack/A": "must end behind the host",
		"https://waf.example.com/hq":      "must end behind the host",
		"https://waf.example.com?x=1":     "must end behind the host",
		"https://waf.example.com/#top":    "must end behind the host",
		"https://me:pass@waf.example.com": "holds a user name or a password",
	} {
		got := typed(t, nil, "manifest", "--url", address)
		require.Equal(t, exitUsage, got.code, "%s: %+v", address, got)
		require.Empty(t, got.out, address)
		require.Contains(t, got.err, says, address)
		require.NotContains(t, got.err, "pass@", "not repeated")
	}
}
