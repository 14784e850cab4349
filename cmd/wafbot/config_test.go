package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallConfig = `
slack: {bot_token: xoxb-secret-1, signing_secret: secret-2}
account_defaults: {api_url: "https://api.example.com", poll_interval: 20s}
accounts:
  - {name: acme, token: secret-3, channel: C0ACME}
`

func written(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wafbot.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := written(t, smallConfig)
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, nil, "config", "check", good))
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, []string{"WAFBOT_CONFIG=" + good}, "config", "check"))
	bad := written(t, "polcy: 1\nlisten: x\n"+smallConfig)
	require.Equal(t, answered{exitUsage, "", bad + ":1:1: polcy: unknown key; did you mean \"policy\"?\n" +
		bad + ":2:9: listen: \"x\" is no address to listen on; write it like 127.0.0.1:8080 or :8080\n"}, typed(t, nil, "config", "check", bad))
	noSlack := written(t, "accounts: [{name: acme, api_url: 'https://h/', token: t, channel: C0ACME}]\n")
	require.Contains(t, typed(t, nil, "config", "check", noSlack).err, "slack.bot_token: missing", "serve would refuse it")
	require.Equal(t, exitDone, typed(t, nil, "config", "show", noSlack).code, "the terminal takes it")
}

func TestConfigShowAndSchema(t *testing.T) {
	t.Parallel()
	shown := typed(t, nil, "config", "show", written(t, smallConfig))
	require.Equal(t, exitDone, shown.code)
	require.Contains(t, shown.out, "poll_interval: 20s")
	require.Contains(t, shown.out, "[redacted]")
	require.NotContains(t, shown.out, "secret-")
	schema := typed(t, nil, "config", "schema")
	require.Equal(t, exitDone, schema.code)
	require.True(t, json.Valid([]byte(schema.out)))
	require.Equal(t, exitUsage, typed(t, nil, "config", "chek").code)
}
