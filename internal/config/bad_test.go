package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

// badConfig is a mistake and what the person reads who has made it. FILE stands for the file's path, DIR for its folder.
type badConfig struct {
	name    string
	yaml    string
	environ []string
	want    string
}

func requireProblems(t *testing.T, mistakes []badConfig) {
	for _, bad := range mistakes {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, bad.yaml)
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "empty"), []byte("\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "huge"), make([]byte, 1<<17), 0o600))
			c, err := config.Load(path, bad.environ)
			require.Nil(t, c)
			require.IsType(t, &config.Error{}, err)
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), path, "FILE"), filepath.Dir(path), "DIR")
			require.Equal(t, strings.TrimSpace(bad.want), got)
			requireSchemaAgrees(t, bad.yaml, got)
		})
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	requireProblems(t, []badConfig{
		{
			name: "unknown key",
			yaml: minimal + "polcy: {changes: off}\nslack: {bot_tokne: x, zzz: 1}\n",
			want: `
FILE:4:1: polcy: unknown key; did you mean "policy"?
FILE:5:9: slack.bot_tokne: unknown key; did you mean "bot_token"?
FILE:5:23: slack.zzz: unknown key; remove it
`,
		},
		{
			name: "doubled keys",
			yaml: minimal + "listen: :80\nlisten: :81\nrunbooks: {a: 'https://h/', a: 'https://h/'}\n",
			want: `
FILE:5:1: listen: given twice, first on line 4; remove one
FILE:6:29: runbooks.a: given twice, first on line 6; remove one
`,
		},
		{
			name: "no YAML",
			yaml: "slack: [\nlisten: :1\n",
			want: `
FILE:3:1: YAML: did not find expected ',' or ']'; fix the syntax
`,
		},
		{
			name: "not UTF-8",
			yaml: "listen: \xff\n",
			want: `
FILE:1:1: YAML: invalid leading UTF-8 octet (value: 255); fix the syntax
`,
		},
		{
			name: "two documents",
			yaml: minimal + "---\nlisten: :1\n",
			want: `
FILE:4:1: YAML: a second document starts here; one file holds one configuration
`,
		},
		{
			name: "wrong shapes",
			yaml: minimal + "listen: [1]\nslack: hello\nsources: {a: b}\nrunbooks:\naudit: {keep: {a: 1}}\ntimezone: ~\n? [a]\n: b\n",
			want: `
FILE:4:9: listen: is a list; write a single value
FILE:5:8: slack: is a single value; write keys with values below it
FILE:6:10: sources: is keys with values below it; write a list
FILE:7:10: runbooks: has no value; write one or leave the key out
FILE:8:15: audit.keep: is keys with values below it; write a single value
FILE:9:11: timezone: has no value; write one or leave the key out
FILE:10:3: ?: a key must be a plain word
`,
		},
		{
			name: "a list at the top",
			yaml: "- a\n",
			want: `
FILE:1:1: YAML: does not start with a key; write keys of the configuration, such as accounts:
`,
		},
		{
			name: "addresses of sources",
			yaml: minimal + `
sources:
  - {name: a, ranges: [192.0.2.0/33, 192.0.2.5/24, fe80::1%eth0, office]}
  - {name: a, ranges: [], deny: maybe}
  - {ranges: [192.0.2.1], file: nowhere.txt}
`,
			want: `
FILE:6:24: sources[0].ranges[0]: "192.0.2.0/33" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
FILE:6:38: sources[0].ranges[1]: "192.0.2.5/24" has bits beyond its /24; write 192.0.2.0/24, or the address alone
FILE:6:52: sources[0].ranges[2]: "fe80::1%eth0" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
FILE:6:66: sources[0].ranges[3]: "office" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
FILE:7:5: sources[1]: names no address; write ranges or file
FILE:7:12: sources[1].name: "a" is given twice; rename one
FILE:7:33: sources[1].deny: "maybe" is unknown here; write one of never, approval
FILE:8:5: sources[2].name: missing; give it a name
FILE:8:33: sources[2].file: open DIR/nowhere.txt: no such file or directory; put the list there or fix the path
`,
		},
		{
			name:    "references",
			yaml:    minimal + "timezone: ${UNSET}\nlisten: ${LISTEN}\nslack: {command: '/${', bot_token: '${UNSET_TOO}'}\n",
			environ: []string{"LISTEN=nonsense"},
			want: `
FILE:4:11: timezone: ${UNSET} is not set; set that variable, or write $${ for a plain ${
FILE:5:9: listen: "${LISTEN}" is no address to listen on; write it like 127.0.0.1:8080 or :8080
FILE:6:18: slack.command: has a ${ that is not a whole ${NAME}; write $$ for a dollar
FILE:6:36: slack.bot_token: ${UNSET_TOO} is not set; set that variable, or write $${ for a plain ${
`,
		},
		{
			name: "secrets in files",
			yaml: `
slack: {bot_token: x, bot_token_file: y, app_token_file: nowhere, signing_secret_file: empty}
redis: {url: "redis://h", url_file: y}
accounts:
  - {name: acme, api_url: "https://api.example.com", token_file: nowhere, channel: C0123ABCD}
  - {name: other, api_url: "https://api.example.com", token: t, token_file: empty, channel: C0123ABCD}
`,
			want: `
FILE:2:39: slack.bot_token_file: slack.bot_token is set too; remove one of them
FILE:2:58: slack.app_token_file: open DIR/nowhere: no such file or directory; put the secret there or fix the path
FILE:2:88: slack.signing_secret_file: DIR/empty is empty; put the secret there or fix the path
FILE:3:37: redis.url_file: redis.url is set too; remove one of them
FILE:5:66: accounts[0].token_file: open DIR/nowhere: no such file or directory; put the secret there or fix the path
FILE:6:77: accounts[1].token_file: accounts[1].token is set too; remove one of them
`,
		},
		{
			name: "numbers, durations, times",
			yaml: minimal + `
timezone: Mars/Olympus
slack: {messages_per_second: -1}
redis: {url: "redis://h?skip_verify=true", wait_replicas: -1, key_prefix: "{a}", tls: {ca_file: ca.pem}}
policy:
  durations: {deny: 4, mode: 1.5h, patch: 60d}
  renew_while_active: -1h
  widest_prefix: {ipv4: 8, ipv6: 129}
  approval: {timeout: 0s, override_after: 0}
audit: {keep: forever}
`,
			want: `
FILE:5:11: timezone: "Mars/Olympus" is no time zone; write it like UTC or Europe/Berlin
FILE:6:30: slack.messages_per_second: "-1" is out of range; write 0 (as fast as Slack takes them) to 1000
FILE:7:14: redis.url: has something behind a ? or #, which wafbot would ignore; write options into redis: of the file, and these characters in a password as %3F and %23
FILE:7:59: redis.wait_replicas: "-1" is too small; write 0 at least
FILE:7:75: redis.key_prefix: "{a}" is no prefix of keys; write up to 64 of a-z A-Z 0-9 : . _ -
FILE:9:21: policy.durations.deny: "4" is no duration; write it like 30m, 12h, 7d or 1w2d
FILE:9:30: policy.durations.mode: "1.5h" is no duration; write it like 30m, 12h, 7d or 1w2d
FILE:9:43: policy.durations.patch: "60d" is longer than policy.longest_duration; write 30d at most
FILE:10:23: policy.renew_while_active: "-1h" is no duration; write it like 30m, 12h, 7d or 1w2d
FILE:11:25: policy.widest_prefix.ipv4: "8" is out of range; write 12 to 32
FILE:11:34: policy.widest_prefix.ipv6: "129" is out of range; write 32 to 128
FILE:12:23: policy.approval.timeout: "0s" is too short; write a duration longer than 0
FILE:13:15: audit.keep: "forever" is no duration; write it like 30m, 12h, 7d or 1w2d
`,
		},
		{
			name: "a longest duration below the defaults",
			yaml: minimal + "policy: {longest_duration: 2d}\n",
			want: `
FILE:4:28: policy.longest_duration: is shorter than the 1w of policy.durations.patch; set policy.durations.patch to 2d at most
`,
		},
		{
			name: "policy",
			yaml: minimal + `
listen: 8080
slack: {api_url: slack.com, command: waf}
redis: {url: "http://h"}
runbooks: {brute: wiki}
policy:
  changes: yes
  viewers: [everyone, "*"]
  admins: ["@boss"]
  terminal: {root: god}
  approval:
    required_for: [closing]
    approvers: leads
    override_after: soon
`,
			want: `
FILE:5:9: listen: "8080" is no address to listen on; write it like 127.0.0.1:8080 or :8080
FILE:6:18: slack.api_url: "slack.com" is no web address; write it like https://HOST/
FILE:6:38: slack.command: "waf" is no slash command; write / and up to 31 of a-z 0-9 - _
FILE:7:14: redis.url: is no Redis address; write it like redis://HOST:6379/0, redis-sentinel://… or redis-cluster://…, with TLS rediss://…, redis-sentinels://… or redis-clusters://…
FILE:8:19: runbooks.brute: "wiki" is no web address; write it like https://HOST/
FILE:10:12: policy.changes: "yes" is unknown here; write one of off, dry_run, on
FILE:11:13: policy.viewers[0]: "everyone" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
FILE:12:12: policy.admins[0]: "@boss" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
FILE:13:20: policy.terminal.root: "god" is unknown here; write one of viewer, responder, admin
FILE:15:20: policy.approval.required_for[0]: "closing" is unknown here; write one of forever, broad, block_path, allow, mode_off, rules_everywhere, source, indicator_untried
FILE:16:16: policy.approval.approvers: "leads" is no id; write a user id (U…) or a user group id (S…)
FILE:17:21: policy.approval.override_after: "soon" is no duration; write it like 30m, 12h, 7d or 1w2d
`,
		},
		{
			name: "changes on without sources",
			yaml: minimal + "policy: {changes: on}\n",
			want: `
FILE:4:19: policy.changes: is on, but nothing says which addresses must not be denied by mistake (your CDN, office, health checks); write "sources:" with them into the file, "sources: []" if there are none, or set WAFBOT_NEVER_DENY, which may be empty
`,
		},
		{
			name:    "environment beside the file",
			yaml:    minimal + "listen: 80\n",
			environ: []string{"WAFBOT_SLACK_BOT_TOKEN=a", "WAFBOT_SLACK_BOT_TOKEN_FILE=/b", "WAFBOT_LISTN=:80", "WAFBOT_CHANGES=yes", "WAFBOT_ADMINS=U0ANN,bob", "WAFBOT_NEVER_DENY=192.0.2.1,office", "WAFBOT_PORT=8080", "WAFBOT_COMPLETELY_DIFFERENT=1", "WAFBOT_DENY=1"},
			want: `
FILE:4:9: listen: "80" is no address to listen on; write it like 127.0.0.1:8080 or :8080
environment: WAFBOT_COMPLETELY_DIFFERENT: unknown variable; unset it
environment: WAFBOT_DENY: unknown variable; unset it
environment: WAFBOT_LISTN: unknown variable; did you mean "WAFBOT_LISTEN"?
environment: WAFBOT_PORT: unknown variable; unset it
environment: WAFBOT_SLACK_BOT_TOKEN_FILE: WAFBOT_SLACK_BOT_TOKEN is set too; unset one of them
environment: WAFBOT_NEVER_DENY: "office" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
environment: WAFBOT_CHANGES: "yes" is unknown here; write one of off, dry_run, on
environment: WAFBOT_ADMINS: "bob" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
`,
		},
		{
			name: "long and hostile values, and a file that is no secret",
			yaml: minimal + "timezone: \"\\e[31m" + strings.Repeat("x", 100) + "\"\n\"\\a\": 1\nslack: {app_token_file: huge, bot_token_file: ''}\n",
			want: `
FILE:4:11: timezone: "\x1b[31mxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" is no time zone; write it like UTC or Europe/Berlin
FILE:5:1: \a: unknown key; remove it
FILE:6:25: slack.app_token_file: DIR/huge holds more than 65536 bytes; put the secret there or fix the path
FILE:6:47: slack.bot_token_file: the path is empty; put the secret there or fix the path
`,
		},
		{
			name: "a time zone that is another on each machine",
			yaml: minimal + "timezone: Local\n",
			want: `
FILE:4:11: timezone: "Local" is no time zone; write it like UTC or Europe/Berlin
`,
		},
		{
			name:    "several mistakes in one variable",
			yaml:    minimal,
			environ: []string{"WAFBOT_VIEWERS=ann,bob", "WAFBOT_NEVER_DENY=home,office"},
			want: `
environment: WAFBOT_NEVER_DENY: "home" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
environment: WAFBOT_NEVER_DENY: "office" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
environment: WAFBOT_VIEWERS: "ann" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
environment: WAFBOT_VIEWERS: "bob" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
`,
		},
	})
}

// A secret that is there and can't be read is no wrong path.
func TestASecretOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t"), 0))
	_, err := config.Load(write(t, "accounts: [{name: acme, api_url: 'https://api.example.com', token_file: '"+token+"', channel: C0123ABCD}]\n"), nil)
	require.ErrorContains(t, err, "permission denied; let the user that wafbot runs as read it")
}
