package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

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
