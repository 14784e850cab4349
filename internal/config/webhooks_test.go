package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/webhooks"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestWebhooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hook"), []byte("https://siem.example.com/T0K3N\n"), 0o600))
	c := load(t, minimal+"webhooks:\n  - {url_file: "+filepath.Join(dir, "hook")+", secret: "+hookSecret+", events: [new_incident, audit], accounts: [acme]}\n  - {url: 'http://localhost:9/', secret: "+hookSecret+"}\n")
	list := c.WebhookList()
	require.Equal(t, webhooks.List{
		{Name: "webhooks[0]", URL: "https://siem.example.com/T0K3N", Secret: hookSecret, Events: []string{"new_incident", "audit"}, Accounts: []string{"acme"}},
		{Name: "webhooks[1]", URL: "http://localhost:9/", Secret: hookSecret, Events: []string{"*"}, Accounts: []string{"*"}},
	}, list)
	require.Equal(t, []string{list[0].ID(), list[1].ID()}, list.Wanting("acme", "audit"))
	require.Equal(t, []string{list[1].ID()}, list.Wanting("acme", "worsened"))
	require.Equal(t, []string{list[1].ID()}, list.Wanting("globex", "audit"))
}

func TestBadWebhooks(t *testing.T) {
	t.Parallel()
	const noSecret = `is no secret of Standard Webhooks: whsec_ and 24 to 64 random bytes in base64; make one with: echo "whsec_$(openssl rand -base64 32)"`
	requireProblems(t, []badConfig{
		{
			name: "missing and wrong",
			yaml: minimal + "webhooks:\n  - {}\n  - {url: 'https://h/', secret: hunter2}\n  - {url: 'http://h.example.com/hidden', secret_file: none}\n  - {url: nowhere, secret: " + hookSecret + ", events: []}\n",
			want: `
FILE:5:5: webhooks[0].url: missing; set it
FILE:5:5: webhooks[0].secret: missing; set it
FILE:6:33: webhooks[1].secret: ` + noSecret + `
FILE:7:11: webhooks[2].url: would send over the network unencrypted; write https://, or let a proxy on this machine pass it on
FILE:7:55: webhooks[2].secret_file: open DIR/none: no such file or directory; put the secret there or fix the path
FILE:8:11: webhooks[3].url: the value is no web address; write it like https://HOST/
FILE:8:76: webhooks[3].events: is empty, so that nothing would be sent; leave it out for all
`,
		},
		{
			name: "twice, and unknown names",
			yaml: minimal + "webhooks:\n  - {url: 'https://h/', secret: " + hookSecret + ", events: [new_incidents], accounts: [acmee]}\n  - {url: 'https://h/', secret: " + hookSecret + "}\n",
			want: `
FILE:5:82: webhooks[0].events[0]: "new_incidents" is no event; did you mean "new_incident"?
FILE:5:109: webhooks[0].accounts[0]: "acmee" is no account; did you mean "acme"?
FILE:6:11: webhooks[1].url: is the address of webhooks[0], too; put the events and accounts of both into one
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
