package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallConfig = `
slack: {bot_token: xoxb-secret-1, signing_secret: secret-2}
account_defaults: {api_url: "https://api.example.com", poll_interval: 20s}
accounts:
  - {name: acme, token: secret-3, channel: C0ACME}
`

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := writeConfig(t, smallConfig)
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, nil, "config", "check", good))
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, []string{"WAFBOT_CONFIG=" + good}, "config", "check"))
	bad := writeConfig(t, "polcy: 1\nlisten: x\n"+smallConfig)
	require.Equal(t, answered{exitUsage, "", bad + ":1:1: polcy: unknown key; did you mean \"policy\"?\n" +
		bad + ":2:9: listen: \"x\" is no address to listen on; write it like 127.0.0.1:8080 or :8080\n"}, typed(t, nil, "config", "check", bad))
	noSlack := writeConfig(t, "accounts: [{name: acme, api_url: 'https://h/', token: t, channel: C0ACME}]\n")
	require.Contains(t, typed(t, nil, "config", "check", noSlack).err, "slack.bot_token: missing", "serve would refuse it")
	require.Equal(t, exitDone, typed(t, nil, "config", "show", noSlack).code, "the terminal takes it")
}

// What serve refuses, config check refuses, in the same words and with the same exit code.
func TestConfigCheckIsWhatServeDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link, blanks, folder := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "blanks"), filepath.Join(dir, "folder")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	require.NoError(t, os.WriteFile(blanks, []byte("AB CD\n"), 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	with := func(account string) string { return strings.Replace(smallConfig, "token: secret-3", account, 1) }
	slack := func(key string) string { return strings.Replace(smallConfig, "signing_secret: secret-2", key, 1) }
	const noFile = " is a folder, a pipe or a device, and must be a file: wafbot reads it again later"
	for _, bad := range []struct{ yaml, says string }{
		{with(`token: "AB CD"`), "accounts[0].token: token holds a space"},
		{with("token_file: " + blanks), "accounts[0].token_file: read token file " + blanks + ": token holds a space"},
		{with("token: t, api_url: 'https://h/?a=b'"), "accounts[0].api_url: base address must not hold a query"},
		{with("token: t, routes: [{page: {name: p, format: pagerduty, url: 'https://h/'}}]"), "routing key"},
		{with("token_file: " + pipe), pipe + noFile},
		{with("token_file: " + link), link + noFile},
		{with("token_file: /dev/zero"), "/dev/zero" + noFile},
		{with("token_file: " + folder), folder + noFile},
		{slack("signing_secret_file: " + pipe), pipe + noFile},
		{slack("app_token_file: " + pipe), pipe + noFile},
		{smallConfig + "redis: {url_file: " + pipe + "}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'rediss://h', tls: {ca_file: " + pipe + "}}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'rediss://h', tls: {cert_file: " + pipe + ", key_file: " + pipe + "}}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'http://h'}\n", "is no Redis address"},
		{smallConfig + "listen: nowhere\n", "is no address to listen on"},
		{"accounts: [{name: acme, api_url: 'https://h/', token: t, channel: C0ACME}]\n", "slack.bot_token: missing"},
	} {
		path := writeConfig(t, bad.yaml)
		checked := typed(t, nil, "config", "check", path)
		require.Equal(t, exitUsage, checked.code, "%s: %+v", bad.yaml, checked)
		require.Contains(t, checked.err, bad.says)
		require.Equal(t, checked, typed(t, nil, "serve", "--config", path), bad.yaml)
	}
	require.Contains(t, typed(t, nil, "config", "check", pipe).err, "read config: "+pipe+noFile)
}

func TestConfigShowAndSchema(t *testing.T) {
	t.Parallel()
	shown := typed(t, nil, "config", "show", writeConfig(t, smallConfig))
	require.Equal(t, exitDone, shown.code)
	require.Contains(t, shown.out, "poll_interval: 20s")
	require.Contains(t, shown.out, "[redacted]")
	require.NotContains(t, shown.out, "secret-")
	schema := typed(t, nil, "config", "schema")
	require.Equal(t, exitDone, schema.code)
	require.True(t, json.Valid([]byte(schema.out)))
	require.Equal(t, exitUsage, typed(t, nil, "config", "chek").code)
}
