package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

// What is shown is a configuration that comes to the same, but for the secrets.
func TestShownConfigurationMeansTheSame(t *testing.T) {
	t.Parallel()
	shown := func(c *config.Config, environ ...string) string {
		text, err := c.Show()
		require.NoError(t, err)
		for _, entry := range environ {
			_, value, _ := strings.Cut(entry, "=")
			require.NotContains(t, string(text), value)
		}
		return string(text)
	}
	full, err := config.Load("testdata/full.yaml", fullEnviron)
	require.NoError(t, err)
	wd, err := os.Getwd()
	require.NoError(t, err)
	text := strings.ReplaceAll(shown(full, fullEnviron...), ": testdata/", ": "+filepath.Join(wd, "testdata")+"/")
	require.NotContains(t, text, "literal$token")
	text = strings.ReplaceAll(text, "url: '[redacted]'", "url: redis://127.0.0.1:6379") // must be an address
	again := load(t, text)
	text, was := shown(again), shown(full)
	require.Equal(t, strings.ReplaceAll(was, ": testdata/", ": "+filepath.Join(wd, "testdata")+"/"), text)
	require.Contains(t, text, "renew_while_active: 0s", "what was switched off stays so")

	merged := load(t, "account_defaults: {storm: {over: 3}, routes: [], console_url: 'https://h/$$'}\n"+minimal+"sources: []\npolicy: {changes: on}\n", "WAFBOT_ADMINS=")
	for _, key := range []string{"over: 3", "routes: []", "sources: []", "admins: []", "changes: on", "poll_interval: 15s", "console_url: https://h/$$"} {
		require.Contains(t, shown(merged), key)
	}
	require.NotContains(t, shown(merged), "account_defaults")
}
