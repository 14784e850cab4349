package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

func TestBadAccounts(t *testing.T) {
	t.Parallel()
	requireProblems(t, []badConfig{
		{
			name: "accounts",
			yaml: `
accounts:
  - {}
  - {name: Acme, api_url: ftp://api.example.com, token: t, channel: "#waf", client_id: 0, poll_interval: 100ms, ongoing_for: 2h, lookback: 0}
  - {name: twice, api_url: "https://api.example.com", token: t, console_url: console}
  - {name: twice, api_url: "https://user:pass@api.example.com", token: "", applications: {0: Zero, 1: 7, 2: A, 3: A, x: B, 4: {can_block: maybe}, 5: {}}}
`,
			want: `
FILE:3:5: accounts[0].name: missing; give it a name
FILE:3:5: accounts[0].api_url: missing; set it
FILE:3:5: accounts[0].token: missing; set it
FILE:4:12: accounts[1].name: "Acme" is no account name; write up to 32 of a-z 0-9 -
FILE:4:27: accounts[1].api_url: "ftp://api.example.com" is no web address; write it like https://HOST/
FILE:4:69: accounts[1].channel: "#waf" is no channel id; write the id (C…) that Slack shows at the end of the channel's details
FILE:4:88: accounts[1].client_id: "0" is no client id; write one above 0, or leave it out to have the API asked
FILE:4:106: accounts[1].poll_interval: "100ms" is too short; write 250ms at least
FILE:4:126: accounts[1].ongoing_for: "2h" is too long; write 1h at most
FILE:4:140: accounts[1].lookback: "0" is too short; write a duration longer than 0
FILE:5:78: accounts[2].console_url: "console" is no web address; write it like https://HOST/
FILE:6:12: accounts[3].name: "twice" is given twice; rename one
FILE:6:28: accounts[3].api_url: holds a user name or a password; take them out
FILE:6:72: accounts[3].token: missing; set it
FILE:6:94: accounts[3].applications.0: is no application id; write one above 0, or -1 for the default application
FILE:6:103: accounts[3].applications.1: "7" could be taken for an id; write a name that is no number
FILE:6:115: accounts[3].applications.3: "A" is given twice (upper and lower case are the same); rename one
FILE:6:118: accounts[3].applications.x: as a key is no whole number
FILE:6:139: accounts[3].applications.4.can_block: "maybe" is neither true nor false
FILE:6:150: accounts[3].applications.5: has no name; give it one
`,
		},
		{
			name: "policies and sources of accounts",
			yaml: `
sources: [{name: CDN, ranges: [192.0.2.0/24]}]
policy: {longest_duration: 10d, approval: {timeout: 10m}}
accounts:
  - name: acme
    api_url: https://api.example.com
    token: t
    policy: {chnges: on, changes: maybe, viewers: [ann], terminal: {ann: {slack: S0ALL}, bob: god}, durations: {deny: 11d, mode: 0s}, approval: {override_after: 20m}}
    sources: [{name: CDN, ranges: [192.0.2.0/25]}, {name: lab}, {name: lab, file: nowhere.txt}]
  - {name: globex, api_url: "https://api.example.com", token: t, policy: {longest_duration: 2d, approval: {timeout: 4m}}}
`,
			want: `
FILE:8:14: accounts[0].policy.chnges: unknown key; did you mean "changes"?
FILE:8:35: accounts[0].policy.changes: "maybe" is unknown here; write one of off, dry_run, on
FILE:8:52: accounts[0].policy.viewers[0]: "ann" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
FILE:8:74: accounts[0].policy.terminal.ann.role: missing; write one of viewer, responder, admin
FILE:8:82: accounts[0].policy.terminal.ann.slack: "S0ALL" is no user id; write the id (U…) that Slack shows in the profile's menu
FILE:8:95: accounts[0].policy.terminal.bob: "god" is unknown here; write one of viewer, responder, admin
FILE:8:119: accounts[0].policy.durations.deny: "11d" is longer than policy.longest_duration; write 10d at most
FILE:8:130: accounts[0].policy.durations.mode: "0s" is too short; write a duration longer than 0
FILE:8:162: accounts[0].policy.approval.override_after: "20m" is not shorter than policy.approval.timeout, so it would never come; write a shorter one, or 0 to allow no override
FILE:9:22: accounts[0].sources[0].name: "CDN" is given twice; rename one
FILE:9:52: accounts[0].sources[1]: names no address; write ranges or file
FILE:9:72: accounts[0].sources[2].name: "lab" is given twice; rename one
FILE:9:83: accounts[0].sources[2].file: open DIR/nowhere.txt: no such file or directory; put the list there or fix the path
FILE:10:93: accounts[1].policy.longest_duration: is shorter than the 1w of policy.durations.patch; set accounts[1].policy.durations.patch to 2d at most
FILE:10:117: accounts[1].policy.approval.timeout: is not longer than the 5m of policy.approval.override_after, so there would be no override; set accounts[1].policy.approval.override_after shorter, or to 0 to allow none
`,
		},
		{
			name: "what happens in an account",
			yaml: `
accounts:
  - name: acme
    api_url: https://api.example.com
    token: t
    applications: {4: Shop}
    storm: {over: 0, in: 0s}
    quiet: {hours: night}
    summary: {at: 9am}
    routes:
      - match: {kind: incidents, status: [blocked, open], application: [Shop, 9, Shoop], host: "", type: [sqli, ""], min_hits: 0, severity: worst}
        channel: waf
        mention: "@ann"
        page: {after: 0s}
      - {mach: {}, page: {url: nowhere, format: fax}}
    client_id: many
    ongoing_for: 2h
`,
			want: `
FILE:7:19: accounts[0].storm.over: "0" is too small; write 1 at least
FILE:7:26: accounts[0].storm.in: "0s" is too short; write a duration longer than 0
FILE:8:20: accounts[0].quiet.hours: "night" are no hours; write them like 22:00-07:00
FILE:9:19: accounts[0].summary.at: "9am" is no time of day; write it like 09:00
FILE:11:23: accounts[0].routes[0].match.kind: "incidents" is unknown here; write one of incident, attack
FILE:11:52: accounts[0].routes[0].match.status[1]: "open" is unknown here; write one of blocked, partly, not_blocked, unknown
FILE:11:82: accounts[0].routes[0].match.application[2]: "Shoop" is no application; write an id or a name from the account's applications
FILE:11:96: accounts[0].routes[0].match.host: is empty, so it matches nothing; remove it
FILE:11:113: accounts[0].routes[0].match.type[1]: is empty, so it matches nothing; remove it
FILE:11:128: accounts[0].routes[0].match.min_hits: "0" is too small; write 1 at least
FILE:11:141: accounts[0].routes[0].match.severity: "worst" is unknown here; write one of critical, high, medium, low
FILE:12:18: accounts[0].routes[0].channel: "waf" is no channel id; write the id (C…) that Slack shows at the end of the channel's details
FILE:13:18: accounts[0].routes[0].mention: "@ann" is no id; write a user id (U…) or a user group id (S…)
FILE:14:15: accounts[0].routes[0].page.url: missing; set it
FILE:14:15: accounts[0].routes[0].page.format: missing; write one of pagerduty, alertmanager, json
FILE:14:23: accounts[0].routes[0].page.after: "0s" is too short; write a duration longer than 0
FILE:15:10: accounts[0].routes[1].mach: unknown key; did you mean "match"?
FILE:15:32: accounts[0].routes[1].page.url: the value is no web address; write it like https://HOST/
FILE:15:49: accounts[0].routes[1].page.format: "fax" is unknown here; write one of pagerduty, alertmanager, json
FILE:16:16: accounts[0].client_id: "many" is no whole number
FILE:17:18: accounts[0].ongoing_for: "2h" is too long; write 1h at most
`,
		},
		{
			name: "no account",
			yaml: "listen: :8080\n",
			want: `
FILE:1:1: accounts: there is none; write one into the file, or set WAFBOT_API_URL, WAFBOT_API_TOKEN and WAFBOT_CHANNEL
`,
		},
		{
			name:    "account twice, in the file and in the environment",
			yaml:    minimal,
			environ: []string{"WAFBOT_API_URL=https://api.example.com", "WAFBOT_CHANNEL=C0123ABCD"},
			want: `
environment: WAFBOT_API_URL: the accounts are in the file; set accounts[].api_url there and unset this
environment: WAFBOT_CHANNEL: the accounts are in the file; set accounts[].channel there and unset this
`,
		},
	})
}

func TestPagersThatAcknowledge(t *testing.T) {
	t.Parallel()
	const account = "accounts:\n  - name: acme\n    api_url: https://api.example.com\n    token: t\n"
	const page = "page: {url: 'https://p/?routing_key=k', format: "
	c := load(t, account+"    routes: [{match: {kind: incident}, "+page+"pagerduty, name: oncall, webhook_secret: s1}}, {"+page+"pagerduty, name: oncall}}]\n")
	require.Equal(t, apiclient.Secret("s1"), c.PagerSecret("oncall"))
	require.Empty(t, c.PagerSecret(""))
	require.Empty(t, c.PagerSecret("other"))
	requireProblems(t, []badConfig{{
		name: "bad pagers",
		yaml: account + "    routes:\n      - {" + page + "pagerduty, name: On Call, webhook_secret: s}}\n      - {" + page + "pagerduty, webhook_secret: s}}\n      - {" + page + "json, name: a, webhook_secret: s}}\n" +
			"      - {" + page + "pagerduty, name: b, webhook_secret: s}}\n      - {" + page + "pagerduty, name: b, webhook_secret: other}}\n",
		want: `
FILE:6:75: accounts[0].routes[0].page.name: "On Call" is no name of a pager; write up to 32 of a-z 0-9 -
FILE:7:85: accounts[0].routes[1].page.webhook_secret: is of a pager without a name; give it one with page.name: its acknowledgements come to /pager/NAME
FILE:8:89: accounts[0].routes[2].page.webhook_secret: is of no PagerDuty; take it out: acknowledgements come back from PagerDuty alone
FILE:10:94: accounts[0].routes[4].page.webhook_secret: is another than that of the same name on another route; give the pagers two names, or one secret
`,
	}})
}
