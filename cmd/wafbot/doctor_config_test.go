package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDoctorListsEveryProblemOfTheConfiguration(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "polcy: {}\naccounts:\n  - {name: acme, api_url: nonsense, token: t, channel: waf}\n")
	d := desk{environ: []string{"WAFBOT_ADMINS=ann"}}
	e := d.examine(t, "--config", path)
	require.Len(t, e.of("wrong"), 4, "%+v", e.of("wrong"))
	requireOne(t, e.of("wrong"), "config "+path+`:1:1: polcy: unknown key → did you mean "policy"?`)
	requireOne(t, e.of("wrong"), path+":3:", `accounts[0].api_url: "nonsense" is no web address → write it like https://HOST/`)
	requireOne(t, e.of("wrong"), path+":3:", `accounts[0].channel: "waf" is no channel id`)
	requireOne(t, e.of("wrong"), `config environment: WAFBOT_ADMINS: "ann" is no id`)
	requireOne(t, e.of("note"), "nothing else was looked at")

	missing := filepath.Join(t.TempDir(), "wafbot.yaml")
	requireOne(t, d.examine(t, "--config="+missing).of("wrong"), "config : read config: open "+missing, "mend the path")
}

func TestDoctorNamesWhatServeNeeds(t *testing.T) {
	t.Parallel()
	d := newPatient(t, strings.ReplaceAll(healthy, "    channel: C0WAF0001\n", "")).without("WAFBOT_SLACK_BOT_TOKEN", "WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET")
	e := d.examine(t)
	requireOne(t, e.of("wrong"), "slack.bot_token: missing", "OAuth & Permissions")
	requireOne(t, e.of("wrong"), "missing", "signing_secret")
	requireOne(t, e.of("wrong"), "accounts[0].channel: missing")
	requireOne(t, e.of("ok"), "account acme: the token is of client 5 Acme")
}

func TestDoctorWarnsOfWhatIsAllowedButPerhapsNotMeant(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(open, []byte("file-token\n"), 0o600))
	require.NoError(t, os.Chmod(open, 0o644)) //nolint:gosec // that is what is tested
	for _, tt := range []struct {
		name, yaml string
		environ    []string
		state      string
		says, mend string
	}{
		{"only shows", "policy: {changes: off}\n", nil, "note", "policy.changes: only watching: changes are switched off", "set policy.changes to on"},
		{"rehearses", "", nil, "note", "policy.changes: in rehearsal: ", "set policy.changes to on"},
		{"changes without sources", "policy: {changes: on}\nsources: []\n", nil, "warn", "sources: no address is protected", "CDN"},
		{"nobody may", "", nil, "warn", "policy.responders: nobody may change anything from Slack", "policy.admins"},
		{"no admin", "policy: {responders: [U1]}\n", nil, "warn", "policy.admins: nobody may do what takes an admin", "ids"},
		{"everyone may", "policy: {responders: ['*']}\n", nil, "warn", "policy.responders: everyone in the workspace", "instead of *"},
		{"everyone is admin", "policy: {admins: ['*']}\n", nil, "warn", "policy.admins: everyone in the workspace", "instead of *"},
		{"unencrypted service", "", nil, "warn", "accounts[0].api_url: the token goes to 192.0.2.1 unencrypted", "https://"},
		{"unencrypted slack", "slack: {api_url: 'http://192.0.2.2/api/'}\n", nil, "warn", "slack.api_url: the token goes to 192.0.2.2 unencrypted", "https://"},
		{"unencrypted redis", "", []string{"WAFBOT_REDIS_URL=redis://u:redis-password@192.0.2.3:6379/0"}, "warn", "redis.url: what wafbot remembers goes to 192.0.2.3:6379 unencrypted", "rediss://"},
		{"listens to all", "listen: ':8080'\nslack: {app_token: xapp-1}\n", nil, "warn", "listen: health and metrics can be read", "127.0.0.1:8080"},
		{"a secret for everybody", "slack: {signing_secret_file: " + open + "}\n", nil, "warn", "slack.signing_secret_file: every user of this machine can read " + open, "chmod o-r"},
		{"quiet by nobody's clock", "", nil, "warn", "accounts[0].quiet.hours: 07:00-22:00 are hours of UTC", "timezone"},
		{"quiet by day", "timezone: Europe/Berlin\n", nil, "warn", "accounts[0].quiet.hours: 07:00-22:00 are most of the day", "swapped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			yaml := "accounts: [{name: acme, api_url: 'http://192.0.2.1', token: secret-token, channel: C1, quiet: {hours: '07:00-22:00'}, storm: {over: 20}}]\n" + tt.yaml
			cfg, err := loadConfig(writeConfig(t, yaml), tt.environ)
			require.NoError(t, err)
			found := examined{}
			for _, f := range (checkup{cfg: cfg}).config() {
				found.Findings = append(found.Findings, struct{ Check, Subject, State, Text, Mend string }{f.Check, f.Subject, string(f.State), f.Text, f.Mend})
			}
			requireOne(t, found.of(tt.state), "config "+tt.says, tt.mend)
			for _, line := range append(found.of("wrong"), found.of("warn")...) {
				require.NotContains(t, line, "redis-password")
			}
		})
	}
}

func TestDoctorFindsRoutesThatTakeNothing(t *testing.T) {
	t.Parallel()
	const takes, dead = true, false
	for _, tt := range []struct {
		first, second string
		want          bool
	}{
		{"{}", "{kind: incident}", dead},
		{"{}", "{}", dead},
		{"{kind: incident}", "{}", takes},
		{"{kind: [incident, attack]}", "{type: sqli}", dead},
		{"{kind: incident}", "{kind: attack}", takes},
		{"{type: [sqli, xss]}", "{type: xss, host: shop.example.com}", dead},
		{"{type: sqli}", "{type: [sqli, xss]}", takes},
		{"{application: Shop}", "{application: 4}", dead},
		{"{application: Shop}", "{application: 7}", takes},
		{"{host: Shop.example.com}", "{host: shop.EXAMPLE.com}", dead},
		{"{status: [blocked, partly]}", "{status: partly}", dead},
		{"{min_hits: 30}", "{min_hits: 10}", takes},
		{"{min_hits: 10}", "{min_hits: 30, kind: attack}", dead},
	} {
		cfg := load(t, "accounts: [{name: acme, api_url: 'https://x', token: t, channel: C1, applications: {4: Shop}, routes: [{match: "+tt.first+"}, {match: "+tt.second+"}]}]\n")
		found := checkup{cfg: cfg}.deadRoutes()
		if tt.want == takes {
			require.Empty(t, found, "%+v", tt)
			continue
		}
		require.Len(t, found, 1, "%+v", tt)
		require.Equal(t, "accounts[0].routes[1]", found[0].Subject)
		require.Contains(t, found[0].Text, "accounts[0].routes[0] takes all that it would")
	}
}

func TestDoctorNamesPagers(t *testing.T) {
	t.Parallel()
	const page = "page: {url: 'http://192.0.2.1/hidden?routing_key=hidden', format: "
	cfg := load(t, "accounts: [{name: acme, api_url: 'https://x', token: t, channel: C1, routes: [{match: {kind: incident}, "+page+"pagerduty}}, {"+page+"alertmanager, after: 1m}}, {}]}]\n")
	found := checkup{cfg: cfg}.pagers()
	require.Equal(t, []finding{
		{"route", "accounts[0].routes[0].page", good, "calls a pager (pagerduty) when nobody is on it for 5 min; not tried", ""},
		{"config", "accounts[0].routes[0].page", warn, "the pager's address, which is its key, goes over the network unencrypted", "write https://"},
		{"route", "accounts[0].routes[1].page", good, "calls a pager (alertmanager) when nobody is on it for 1 min; not tried", ""},
	}, found)
	_, err := loadConfig(writeConfig(t, "accounts: [{name: acme, api_url: 'https://x', token: t, routes: [{page: {url: 'https://x/hidden', format: pagerduty}}]}]\n"), nil)
	require.ErrorContains(t, err, "page.url: the address has no routing key; write it like https://events.pagerduty.com/v2/enqueue?routing_key=KEY")
	require.NotContains(t, err.Error(), "hidden")
}

// Who has written variables is told of variables, and who has written a file of its keys.
func TestDoctorNamesKeysAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	e := newDesk(t, "").with("WAFBOT_API_URL=http://"+nobody, "WAFBOT_CHANNEL=C0OLD0005", "WAFBOT_RESPONDERS=", "WAFBOT_CHANGES=rehearse").examine(t)
	requireOne(t, e.of("wrong"), "nobody listens at ", "check WAFBOT_API_URL, and whether")
	requireOne(t, e.of("wrong"), "archived", "for WAFBOT_CHANNEL")
	requireOne(t, e.of("note"), "config WAFBOT_CHANGES: in rehearsal", "set WAFBOT_CHANGES to on")
	e = newDesk(t, "").without("WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET", "WAFBOT_ADMINS").examine(t)
	requireOne(t, e.of("wrong"), "config environment: WAFBOT_SLACK_APP_TOKEN: missing, and WAFBOT_SLACK_SIGNING_SECRET too", "for signed HTTP give WAFBOT_SLACK_SIGNING_SECRET")
	requireOne(t, e.of("warn"), "config WAFBOT_ADMINS: nobody may do what takes an admin")

	d := newPatient(t, strings.ReplaceAll(healthy, "API_URL", "http://"+nobody))
	requireOne(t, d.examine(t).of("wrong"), "nobody listens at ", "check accounts[0].api_url, and whether")
}
