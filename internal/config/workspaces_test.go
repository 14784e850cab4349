package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

// ofTwo is a configuration of two workspaces, with an account in each.
const ofTwo = `
workspaces:
  - {name: hq, bot_token: b1, app_token: a1, signing_secret: s1, messages_per_second: 2}
  - {name: emea, bot_token: b2, signing_secret: s2, api_url: "https://slack-gov.com/api"}
accounts:
  - {name: acme, workspace: hq, api_url: "https://api.example.com", token: t, channel: C0A, policy: {responders: [U0ROB]}}
  - {name: globex, workspace: emea, api_url: "https://api.example.com", token: t, channel: C0B}
`

func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	c := load(t, ofTwo+"policy: {admins: [T0HQ/U0ANN, T0HQ/S0SEC], terminal: {ann: {role: admin, slack: T0HQ/U0ANN}}}\n")
	require.NoError(t, c.CheckServe())
	hq, emea := c.WorkspaceOf(c.Accounts[0]), c.WorkspaceOf(c.Accounts[1])
	require.Equal(t, []any{"hq", "b1", 2.0, "https://slack.com/api/"}, []any{hq.Name, hq.BotToken.Reveal(), hq.MessagesPerSecond, hq.APIURL})
	require.Equal(t, []any{"emea", "b2", 1.0, "https://slack-gov.com/api/"}, []any{emea.Name, emea.BotToken.Reveal(), emea.MessagesPerSecond, emea.APIURL})
	shown, err := c.Show()
	require.NoError(t, err)
	require.NotContains(t, string(shown), "slack:\n")
	require.NotContains(t, string(shown), "b1")

	one := load(t, "workspaces: [{name: hq, bot_token: b, signing_secret: s}]\npolicy: {admins: [U0ANN]}\n"+minimal)
	require.Equal(t, "hq", one.Accounts[0].Workspace, "the only one")
}

func TestBadWorkspaces(t *testing.T) {
	t.Parallel()
	requireProblems(t, []badConfig{
		{
			name: "names and secrets",
			yaml: `
slack: {name: hq}
workspaces:
  - {name: hq, bot_token: b, app_token: a, messages_per_second: -1}
  - {name: hq, bot_token: b, app_token: a, comand: /x}
  - {name: EMEA, command: waf}
  - {}
accounts:
  - {name: a, workspace: hq1, api_url: "https://api.example.com", token: t}
  - {name: b, workspace: nowhere, api_url: "https://api.example.com", token: t}
  - {name: c, api_url: "https://api.example.com", token: t}
`,
			want: `
FILE:2:8: slack: workspaces is set too; write this workspace as one of them, with a name
FILE:2:9: slack.name: is that of one of several workspaces; write them below workspaces
FILE:4:65: workspaces[0].messages_per_second: "-1" is out of range; write 0 (as fast as Slack takes them) to 1000
FILE:5:12: workspaces[1].name: "hq" is given twice; rename one
FILE:5:27: workspaces[1].bot_token: is the same as workspaces[0].bot_token; make an app of its own for each workspace, and write that one's
FILE:5:41: workspaces[1].app_token: is the same as workspaces[0].app_token; make an app of its own for each workspace, and write that one's
FILE:5:44: workspaces[1].comand: unknown key; did you mean "command"?
FILE:6:12: workspaces[2].name: "EMEA" is no name of a workspace; write up to 32 of a-z 0-9 -
FILE:6:27: workspaces[2].command: "waf" is no slash command; write / and up to 31 of a-z 0-9 - _
FILE:7:5: workspaces[3].name: missing; give it a name
FILE:9:26: accounts[0].workspace: "hq1" is no workspace; did you mean "hq"?
FILE:10:26: accounts[1].workspace: "nowhere" is no workspace; write one of hq, EMEA
FILE:11:5: accounts[2].workspace: missing; write one of hq, EMEA
`,
		},
		{
			name: "none",
			yaml: "workspaces: []\n" + minimal,
			want: "FILE:1:13: workspaces: there is none; write one, or take the key out and write slack\n",
		},
		{
			name: "a name without workspaces",
			yaml: "account_defaults: {workspace: hq}\n" + minimal,
			want: "FILE:1:31: accounts[0].workspace: \"hq\" is no workspace: there is only the one of slack; take the key out, or write workspaces\n",
		},
		{
			name: "ids of no certain workspace",
			yaml: ofTwo + `
policy: {admins: [U0ANN, T0HQ/U0ANN, "*", T0HQ/ann], terminal: {ann: {role: admin, slack: U0ANN}}, approval: {approvers: S0SEC}}
account_defaults: {policy: {responders: [S0ALL], viewers: ["*"]}}
`,
			want: `
FILE:9:19: policy.admins[0]: "U0ANN" can be another one in each workspace; write T…/U0ANN, with the workspace's id (wafbot doctor prints it) before it, or write the id into the policy of that workspace's accounts
FILE:9:43: policy.admins[3]: "T0HQ/ann" is no id; write a user id (U…), a user group id (S…) or "*" for everyone
FILE:9:91: policy.terminal.ann.slack: "U0ANN" can be another one in each workspace; write T…/U0ANN, with the workspace's id (wafbot doctor prints it) before it, or write the id into the policy of that workspace's accounts
FILE:9:122: policy.approval.approvers: "S0SEC" is of one workspace, and this holds for the accounts of all; write it into policy.approval of that workspace's accounts
FILE:10:42: account_defaults.policy.responders[0]: "S0ALL" can be another one in each workspace; write T…/S0ALL, with the workspace's id (wafbot doctor prints it) before it, or write the id into the policy of that workspace's accounts
`,
		},
	})
}

func TestVariablesOfSlackAreForTheOnlyWorkspace(t *testing.T) {
	t.Parallel()
	_, err := config.Load(write(t, ofTwo), []string{"WAFBOT_SLACK_BOT_TOKEN=b"})
	require.ErrorContains(t, err, "environment: WAFBOT_SLACK_BOT_TOKEN: the workspaces are in the file; set workspaces[].bot_token there and unset this")
}
