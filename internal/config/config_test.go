package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
)

const day = 24 * time.Hour

var fullEnviron = []string{
	"SLACK_BOT_TOKEN=xoxb-secret", "SLACK_APP_TOKEN=xapp-secret", "SLACK_SIGNING_SECRET=signing-secret", "REDIS_PASSWORD=-secret-",
}

const minimal = `
accounts:
  - {name: acme, api_url: "https://api.example.com", token: t, channel: C0123ABCD}
`

func write(t testing.TB, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wafbot.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

func load(t testing.TB, yaml string, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Load(write(t, yaml), environ)
	require.NoError(t, err)
	requireSchemaAgrees(t, yaml, "")
	return c
}

// keys is what the keys came to, without where they were written.
func keys(c *config.Config) config.Config {
	var bare config.Config
	from, to := reflect.ValueOf(c).Elem(), reflect.ValueOf(&bare).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() && from.Type().Field(i).Name != "AccountDefaults" {
			to.Field(i).Set(from.Field(i))
		}
	}
	return bare
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestConfigWithEveryKey(t *testing.T) {
	t.Parallel()
	c, err := config.Load("testdata/full.yaml", fullEnviron)
	require.NoError(t, err)
	require.NoError(t, c.CheckServe())
	text, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	requireSchemaAgrees(t, string(text), "")

	cannot := false
	require.Equal(t, "Europe/Berlin", c.Timezone.String())
	require.Equal(t, config.Slack{
		BotToken: "xoxb-secret", AppToken: "xapp-secret", SigningSecret: "signing-secret", APIURL: "http://127.0.0.1:9000/api/",
		Command: "/waf-test", MessagesPerSecond: 0.5,
	}, c.Slack)
	require.Equal(t, config.Redis{URL: "redis://:red-secret-is@127.0.0.1:6380/1", WaitReplicas: 1}, c.Redis)
	require.Equal(t, config.Log{Level: "debug", Format: "json"}, c.Log)
	require.Equal(t, "0.0.0.0:9090", c.Listen)
	require.Len(t, c.Accounts, 2)
	require.Equal(t, config.Account{
		Name: "acme", APIURL: "https://api.example.com", TokenFile: filepath.Join("testdata", "secrets", "acme"), ClientID: 5,
		Channel: "C0123ABCD", OpsMention: "S0OPS", PollInterval: 250 * time.Millisecond, Lookback: 36 * time.Hour, OngoingFor: time.Hour,
		ConsoleURL:   "https://console.example.com/",
		Applications: map[int]config.Application{4: {Name: "Shop"}, 7: {Name: "Legacy", CanBlock: &cannot}, -1: {Name: "default"}},
		Routes: []config.Route{
			{
				Match: config.Match{Kind: config.OneOrMore{"incident"}}, Channel: "C0456EFGH", Mention: "S0ONCALL", AckTimeout: 45 * time.Minute,
				Page: &config.Page{
					URL: "https://pager.example/v2/enqueue?routing_key=key-of-pager", URLFile: filepath.Join("testdata", "secrets", "pager"),
					Kind: "pagerduty", After: 6 * time.Minute,
				},
			},
			{
				Match: config.Match{
					Kind: config.OneOrMore{"attack"}, Type: config.OneOrMore{"sqli", "xss"}, Application: config.OneOrMore{"Shop", "7"},
					Host: config.OneOrMore{"shop.example.com"}, Status: config.OneOrMore{"not_blocked", "partly", "unknown"}, MinHits: 30,
				},
				AckTimeout: 2 * time.Hour,
			},
		},
		Storm:   config.Storm{Over: 11, In: 2 * time.Minute},
		Quiet:   config.Quiet{Hours: "22:00-07:00"},
		Summary: config.Summary{At: "09:00"},
	}, c.Accounts[0])
	require.Equal(t, apiclient.Secret("literal$token").Reveal(), c.Accounts[1].Token.Reveal())
	require.NotNil(t, c.Accounts[1].Routes, "routes: [] is not the same as no routes")
	require.Equal(t, map[string]string{"brute": "https://wiki.example.com/brute", "*": "https://wiki.example.com/waf"}, c.Runbooks)
	require.Len(t, c.Sources, 2)
	require.Equal(t, prefixes("192.0.2.0/24", "192.0.2.7/32"), c.Sources[0].Ranges)
	require.Equal(t, filepath.Join("testdata", "cdn.txt"), c.Sources[0].File)
	require.Equal(t, config.Source{Name: "pen test", Ranges: prefixes("203.0.113.64/27"), Deny: "approval"}, c.Sources[1])
	sources := config.NewSourceFiles(c.Sources, slog.New(slog.DiscardHandler)).Now()
	sources[0].ReadAt = time.Time{}
	require.Equal(t, []config.Source{
		{
			Name: "our CDN", File: filepath.Join("testdata", "cdn.txt"), Deny: "never", Cards: true,
			Ranges: prefixes("192.0.2.0/24", "192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32", "203.0.113.9/32"),
		},
		{Name: "pen test", Ranges: prefixes("203.0.113.64/27"), Deny: "approval"},
	}, sources)
	require.Equal(t, config.Policy{
		Changes: "on", Viewers: []string{"*"}, Responders: []string{"U0ANN", "S0SECOPS"}, Admins: []string{"W0BOSS"},
		Terminal: map[string]config.TerminalUser{"root": {Role: "admin", Slack: "U0ROOT"}, "deploy": {Role: "responder"}}, WidestPrefix: config.WidestPrefix{IPv4: 22, IPv6: 40},
		Durations:       config.Durations{Deny: time.Hour, Mode: 4 * time.Hour, Patch: 6 * day},
		LongestDuration: 9 * day,
		Approval: config.Approval{
			RequiredFor: []string{"forever", "broad", "block_path", "allow", "mode_off", "rules_everywhere", "source"},
			Approvers:   "S0LEADS", Timeout: 10 * time.Minute, OverrideAfter: 4 * time.Minute,
		},
	}, c.Policy)
	require.Equal(t, c.Policy, c.PolicyOf(0), "it says nothing of its own")
	other := c.Policy
	other.Changes, other.Viewers, other.Responders = "off", []string{}, []string{"S0OTHER"}
	other.Terminal = map[string]config.TerminalUser{"root": {Role: "admin", Slack: "U0ROOT"}, "deploy": {Role: "viewer"}, "ops": {Role: "responder"}}
	other.Durations.Deny, other.Approval.OverrideAfter = 2*time.Hour, 0
	require.Equal(t, other, c.PolicyOf(1), "maps merge, lists replace, the rest is that of all accounts")
	require.Equal(t, []config.Source{{Name: "office", Ranges: prefixes("192.0.2.128/25"), Deny: "never", Cards: true}}, c.Accounts[1].Sources)
	require.Equal(t, config.Audit{Keep: 100 * day}, c.Audit)

}

func TestDefaultsHoldWhereKeysAreLeftOut(t *testing.T) {
	t.Parallel()
	c, err := config.Load(write(t, minimal+"sources:\n  - {name: office, ranges: [192.0.2.1]}\n"), nil)
	require.NoError(t, err)
	require.Equal(t, config.Config{
		Timezone: time.UTC,
		Log:      config.Log{Level: "info", Format: "text"},
		Slack:    config.Slack{APIURL: "https://slack.com/api/", Command: "/waf", MessagesPerSecond: 1},
		Redis:    config.Redis{URL: "redis://127.0.0.1:6379/0"},
		Listen:   "127.0.0.1:8080",
		Accounts: []config.Account{{
			Name: "acme", APIURL: "https://api.example.com", Token: "t", Channel: "C0123ABCD",
			PollInterval: 15 * time.Second, Lookback: 24 * time.Hour, OngoingFor: 15 * time.Minute,
			Storm: config.Storm{Over: 10, In: time.Minute},
		}},
		Sources: []config.Source{{Name: "office", Ranges: prefixes("192.0.2.1/32"), Deny: "never", Cards: true}},
		Policy: config.Policy{
			Changes: "dry_run", Viewers: []string{"*"}, WidestPrefix: config.WidestPrefix{IPv4: 24, IPv6: 48},
			Durations:       config.Durations{Deny: 4 * time.Hour, Mode: 2 * time.Hour, Patch: 168 * time.Hour},
			LongestDuration: 720 * time.Hour, RenewWhileActive: 24 * time.Hour,
			Approval: config.Approval{
				RequiredFor: []string{"forever", "broad", "block_path", "allow", "mode_off", "rules_everywhere", "source", "indicator_untried"},
				Timeout:     15 * time.Minute, OverrideAfter: 5 * time.Minute,
			},
		},
		Audit: config.Audit{Keep: 9600 * time.Hour},
	}, keys(c))
}

func TestChangesQuotedOrNot(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"on", "off", "dry_run"} {
		for _, written := range []string{word, `"` + word + `"`, "'" + word + "'"} {
			require.Equal(t, word, load(t, minimal+"sources: []\npolicy: {changes: "+written+"}\n").Policy.Changes)
		}
	}
}

func TestReferencesInStrings(t *testing.T) {
	t.Parallel()
	c := load(t, `
# ${IN_A_COMMENT} is not looked at
accounts:
  - {name: "${N}-1", api_url: "https://${HOST}", token: 'a$$b$c$${d}', channel: C0123ABCD, client_id: "${ID}"}
runbooks: {"${NOT_IN_KEYS}": "https://wiki.example.com/"}
`, "N=acme", "HOST=api.example.com", "ID=5")
	require.Equal(t, "acme-1", c.Accounts[0].Name)
	require.Equal(t, "https://api.example.com", c.Accounts[0].APIURL)
	require.Equal(t, "a$b$c${d}", c.Accounts[0].Token.Reveal())
	require.Equal(t, 5, c.Accounts[0].ClientID)
	require.Contains(t, c.Runbooks, "${NOT_IN_KEYS}")
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	c, err := config.Load("testdata/full.yaml", fullEnviron)
	require.NoError(t, err)
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	printed := fmt.Sprintf("%v %+v %#v %+v %s", *c, *c, *c, c, encoded)
	for _, secret := range []string{"xoxb-secret", "xapp-secret", "signing-secret", "red-secret", "literal$token", "key-of-pager", "SLACK_BOT_TOKEN"} {
		require.NotContains(t, printed, secret)
	}
}

func TestSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	_, err := config.Load(write(t, `
slack: {bot_token: [xoxb-hidden], signing_secret: "hidden${", api_url: "https://user:hidden@slack.com/"}
redis: {url: "http://:hidden@redis"}
listen: ${LISTEN}
accounts:
  - {name: acme, api_url: "https://api.example.com", token: hidden, token_file: /nowhere}
    `), []string{"LISTEN=hidden"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hidden")
}
