package doctor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/config"
)

func TestDoctorListsEveryProblemOfTheConfiguration(t *testing.T) {
	t.Parallel()
	path := write(t, "polcy: {}\naccounts:\n  - {name: acme, api_url: nonsense, token: t, channel: waf}\n")
	d := patient{environ: []string{"WAFBOT_ADMINS=ann"}}
	e := d.examineWith(t, doctor.Options{Config: path})
	require.Len(t, e.of(doctor.Wrong), 4, "%+v", e.of(doctor.Wrong))
	requireOne(t, e.of(doctor.Wrong), "config "+path+`:1:1: polcy: unknown key → did you mean "policy"?`)
	requireOne(t, e.of(doctor.Wrong), path+":3:", `accounts[0].api_url: "nonsense" is no web address → write it like https://HOST/`)
	requireOne(t, e.of(doctor.Wrong), path+":3:", `accounts[0].channel: "waf" is no channel id`)
	requireOne(t, e.of(doctor.Wrong), `config environment: WAFBOT_ADMINS: "ann" is no id`)
	requireOne(t, e.of(doctor.Note), "nothing else was checked")

	missing := filepath.Join(t.TempDir(), "wafbot.yaml")
	requireOne(t, d.examineWith(t, doctor.Options{Config: missing}).of(doctor.Wrong), "config : read config: open "+missing, "fix the path")
}

func TestDoctorNamesWhatServeNeeds(t *testing.T) {
	t.Parallel()
	d := newPatient(t, strings.ReplaceAll(healthy, "    channel: C0WAF0001\n", "")).without("WAFBOT_SLACK_BOT_TOKEN", "WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET")
	e := d.examine(t)
	requireOne(t, e.of(doctor.Wrong), "slack.bot_token: missing", "OAuth & Permissions")
	requireOne(t, e.of(doctor.Wrong), "missing", "signing_secret")
	requireOne(t, e.of(doctor.Wrong), "accounts[0].channel: missing")
	requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
}

func TestDoctorWarnsOfWhatIsAllowedButPerhapsNotMeant(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(open, []byte("file-token\n"), 0o600))
	require.NoError(t, os.Chmod(open, 0o644)) //nolint:gosec // that is what is tested
	for _, tt := range []struct {
		name, yaml string
		environ    []string
		state      doctor.State
		says, fix  string
	}{
		{"only shows", "policy: {changes: off}\n", nil, doctor.Note, "policy.changes: only watching: changes are switched off", "set policy.changes to on"},
		{"dry run", "", nil, doctor.Note, "policy.changes: in dry run: ", "set policy.changes to on"},
		{"changes without sources", "policy: {changes: on}\nsources: []\n", nil, doctor.Warn, "sources: no address is protected", "CDN"},
		{"no user may", "", nil, doctor.Warn, "policy.responders: no user may change anything from Slack", "policy.admins"},
		{"no admin", "policy: {responders: [U1]}\n", nil, doctor.Warn, "policy.admins: no user may do what takes an admin", "ids"},
		{"everyone may", "policy: {responders: ['*']}\n", nil, doctor.Warn, "policy.responders: everyone in the workspace", "instead of *"},
		{"everyone is admin", "policy: {admins: ['*']}\n", nil, doctor.Warn, "policy.admins: everyone in the workspace", "instead of *"},
		{"unencrypted service", "", nil, doctor.Warn, "accounts[0].api_url: the token goes to 192.0.2.1 unencrypted", "https://"},
		{"unencrypted slack", "slack: {api_url: 'http://192.0.2.2/api/'}\n", nil, doctor.Warn, "slack.api_url: the token goes to 192.0.2.2 unencrypted", "https://"},
		{"unencrypted redis", "", []string{"WAFBOT_REDIS_URL=redis://u:redis-password@192.0.2.3:6379/0"}, doctor.Warn, "WAFBOT_REDIS_URL: what wafbot stores goes to 192.0.2.3:6379 unencrypted", "rediss://"},
		{"listens to all", "listen: ':8080'\nslack: {app_token: xapp-1, api_url: 'http://" + unused + "/api/'}\n", nil, doctor.Warn, "listen: health and metrics can be read", "127.0.0.1:8080"},
		{"a secret that every user can read", "slack: {signing_secret_file: " + open + "}\n", nil, doctor.Warn, "slack.signing_secret_file: every user of this machine can read " + open, "chmod o-r"},
		{"quiet by a clock that was not chosen", "", nil, doctor.Warn, "accounts[0].quiet.hours: 07:00-22:00 are hours of UTC", "timezone"},
		{"quiet by day", "timezone: Europe/Berlin\n", nil, doctor.Warn, "accounts[0].quiet.hours: 07:00-22:00 are most of the day", "swapped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			yaml := "accounts: [{name: acme, api_url: 'http://192.0.2.1', token: secret-token, channel: C1, quiet: {hours: '07:00-22:00'}, storm: {over: 20}}]\n" + tt.yaml
			found := unreached(t, yaml, tt.environ...)
			requireOne(t, found.of(tt.state), "config "+tt.says, tt.fix)
			for _, line := range append(found.of(doctor.Wrong), found.of(doctor.Warn)...) {
				require.NotContains(t, line, "redis-password")
			}
		})
	}
}

// An account with a policy of its own is judged by that, with what it takes from the one for all.
func TestDoctorChecksThePoliciesOfAccounts(t *testing.T) {
	t.Parallel()
	found := unreached(t, `
sources: []
policy: {changes: dry_run, admins: [U1]}
accounts:
  - {name: acme, api_url: 'http://192.0.2.1', token: secret-token, channel: C1, policy: {changes: on, responders: ['*']}}
  - {name: globex, api_url: 'http://192.0.2.1', token: secret-token, channel: C1, policy: {admins: []}}
`)
	requireOne(t, found.of(doctor.Warn), "config accounts[0].policy.changes: in dry run", "policy.changes is stricter than accounts[0].policy.changes")
	requireOne(t, found.of(doctor.Warn), "config accounts[0].policy.responders: everyone in the workspace", "instead of *")
	requireOne(t, found.of(doctor.Warn), "config accounts[1].policy.responders: no user may change anything from Slack", "accounts[1].policy.admins")
	requireOne(t, found.of(doctor.Note), "config policy.changes: in dry run")
}

// unreached is the report of a configuration whose account, Slack and Redis give no answer.
func unreached(t *testing.T, yaml string, environ ...string) report {
	t.Helper()
	p := patient{environ: append([]string{"WAFBOT_CONFIG=" + write(t, yaml), "WAFBOT_REDIS_URL=redis://" + unused}, environ...)}
	return p.examineWith(t, doctor.Options{Patience: 50 * time.Millisecond})
}

// about are the findings of one kind of thing.
func (r report) about(check string) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return f.Check != check })
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
		{"{severity: [critical, high]}", "{severity: high}", dead},
		{"{severity: high}", "{severity: [critical, high]}", takes},
		{"{min_hits: 30}", "{min_hits: 10}", takes},
		{"{min_hits: 10}", "{min_hits: 30, kind: attack}", dead},
	} {
		found := unreached(t, "accounts: [{name: acme, api_url: 'https://192.0.2.1', token: t, channel: C1, applications: {4: Shop}, routes: [{match: "+tt.first+"}, {match: "+tt.second+"}]}]\n")
		dead := found.about("route")
		if tt.want == takes {
			require.Empty(t, dead, "%+v", tt)
			continue
		}
		require.Len(t, dead, 1, "%+v", tt)
		require.Equal(t, "accounts[0].routes[1]", dead[0].Subject)
		require.Contains(t, dead[0].Text, "accounts[0].routes[0] takes all that it would")
	}
}

func TestDoctorNamesPagers(t *testing.T) {
	t.Parallel()
	const page = "page: {url: 'http://192.0.2.1/hidden?routing_key=hidden', format: "
	found := unreached(t, "accounts: [{name: acme, api_url: 'https://192.0.2.1', token: t, channel: C1, routes: [{match: {kind: incident}, "+page+"pagerduty}}, {"+page+"alertmanager, after: 1m}}, {}]}]\n")
	var pages []doctor.Finding
	for _, f := range found.Findings {
		if strings.HasSuffix(f.Subject, ".page") && f.Check != "pager" {
			pages = append(pages, f)
		}
	}
	require.Equal(t, []doctor.Finding{
		{"config", "accounts[0].routes[0].page", doctor.Warn, "the pager's address, which is its key, goes over the network unencrypted", "write https://"},
		{"route", "accounts[0].routes[0].page", doctor.OK, "calls a pager (pagerduty) when an attack is unacknowledged for 5 min; not tried", ""},
		{"route", "accounts[0].routes[1].page", doctor.OK, "calls a pager (alertmanager) when an attack is unacknowledged for 1 min; not tried", ""},
	}, pages)
	_, err := config.Load(write(t, "accounts: [{name: acme, api_url: 'https://x', token: t, routes: [{page: {url: 'https://x/hidden', format: pagerduty}}]}]\n"), nil)
	require.ErrorContains(t, err, "page.url: the address has no routing key; write it like https://events.pagerduty.com/v2/enqueue?routing_key=KEY")
	require.NotContains(t, err.Error(), "hidden")
}

// Findings name a variable where the environment set the key, and the key where the file did.
func TestDoctorNamesKeysAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	world := newPatient(t, "")
	e := world.with("WAFBOT_API_URL=http://"+unused, "WAFBOT_CHANNEL=C0OLD0005", "WAFBOT_RESPONDERS=", "WAFBOT_CHANGES=dry_run").examine(t)
	requireOne(t, e.of(doctor.Wrong), "nothing listens at ", "check WAFBOT_API_URL, and whether")
	requireOne(t, e.of(doctor.Wrong), "archived", "for WAFBOT_CHANNEL")
	requireOne(t, e.of(doctor.Note), "config WAFBOT_CHANGES: in dry run", "set WAFBOT_CHANGES to on")
	e = world.without("WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET", "WAFBOT_ADMINS").examine(t)
	requireOne(t, e.of(doctor.Wrong), "config environment: WAFBOT_SLACK_APP_TOKEN: missing, and WAFBOT_SLACK_SIGNING_SECRET too", "for signed HTTP give WAFBOT_SLACK_SIGNING_SECRET")
	requireOne(t, e.of(doctor.Warn), "config WAFBOT_ADMINS: no user may do what takes an admin")

	d := newPatient(t, strings.ReplaceAll(healthy, "API_URL", "http://"+unused))
	requireOne(t, d.examine(t).of(doctor.Wrong), "nothing listens at ", "check accounts[0].api_url, and whether")
}
