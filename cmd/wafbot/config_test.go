package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

var fullEnviron = []string{
	"SLACK_BOT_TOKEN=xoxb-secret", "SLACK_APP_TOKEN=xapp-secret", "SLACK_SIGNING_SECRET=signing-secret", "REDIS_PASSWORD=-secret-",
}

const minimal = `
accounts:
  - {name: acme, api_url: "https://api.example.com", token: t, channel: C0123ABCD}
`

func writeConfig(t testing.TB, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wafbot.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

func load(t testing.TB, yaml string, environ ...string) *Config {
	t.Helper()
	c, err := loadConfig(writeConfig(t, yaml), environ)
	require.NoError(t, err)
	return c
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
	c, err := loadConfig("testdata/config/full.yaml", fullEnviron)
	require.NoError(t, err)
	require.NoError(t, c.requireServe())

	cannot := false
	require.Equal(t, "Europe/Berlin", c.Timezone.String())
	require.Equal(t, Slack{
		BotToken: "xoxb-secret", AppToken: "xapp-secret", SigningSecret: "signing-secret", APIURL: "http://127.0.0.1:9000/api/",
		Command: "/waf-test", MessagesPerSecond: 0.5, Burst: 5, EditsPerMinute: 30,
	}, c.Slack)
	require.Equal(t, Redis{URL: "redis://:red-secret-is@127.0.0.1:6380/1", WaitReplicas: 1}, c.Redis)
	require.Equal(t, "0.0.0.0:9090", c.Listen)
	require.Len(t, c.Accounts, 2)
	require.Equal(t, Account{
		Name: "acme", APIURL: "https://api.example.com", TokenFile: filepath.Join("testdata", "config", "secrets", "acme"), ClientID: 5,
		Channel: "C0123ABCD", PollInterval: 250 * time.Millisecond, Lookback: 36 * time.Hour, OngoingFor: time.Hour,
		ConsoleURL:   "https://console.example.com/",
		Applications: map[int]Application{4: {Name: "Shop"}, 7: {Name: "Legacy", CanBlock: &cannot}, -1: {Name: "default"}},
		Routes: []Route{
			{
				Match: Match{Kind: oneOrMore{"incident"}}, Channel: "C0456EFGH", Mention: "S0ONCALL", MentionEvery: 20 * time.Minute,
				Page: &Page{
					URL: "https://pager.example/v2/enqueue?routing_key=key-of-pager", URLFile: filepath.Join("testdata", "config", "secrets", "pager"),
					Format: "pagerduty", After: 6 * time.Minute,
				},
			},
			{
				Match: Match{
					Kind: oneOrMore{"attack"}, Type: oneOrMore{"sqli", "xss"}, Application: oneOrMore{"Shop", "7"},
					Host: oneOrMore{"shop.example.com"}, Status: oneOrMore{"not_blocked", "partly", "unknown"}, MinHits: 30,
				},
				MentionEvery: 10 * time.Minute,
			},
		},
		Storm:   Storm{Over: 11, In: 2 * time.Minute, EndsAfter: 20 * time.Minute},
		Quiet:   Quiet{Hours: "22:00-07:00", Ping: []string{"incident"}},
		Summary: Summary{At: "09:00"},
	}, c.Accounts[0])
	require.Equal(t, apiclient.Secret("literal$token").Reveal(), c.Accounts[1].Token.Reveal())
	require.NotNil(t, c.Accounts[1].Routes, "routes: [] is not the same as no routes")
	require.Equal(t, map[string]string{"brute": "https://wiki.example.com/brute", "*": "https://wiki.example.com/waf"}, c.Runbooks)
	require.Equal(t, []Source{
		{
			Name: "our CDN", File: filepath.Join("testdata", "config", "cdn.txt"), Deny: "never", Cards: true,
			Ranges: prefixes("192.0.2.0/24", "192.0.2.7/32"), listed: prefixes("198.51.100.0/24", "2001:db8::/32", "203.0.113.9/32"),
		},
		{Name: "pen test", Ranges: prefixes("203.0.113.64/27"), Deny: "second_person"},
	}, c.Sources)
	require.Equal(t, Policy{
		Changes: "on", Viewers: []string{"*"}, Responders: []string{"U0ANN", "S0SECOPS"}, Admins: []string{"W0BOSS"},
		Terminal: map[string]string{"root": "admin", "deploy": "responder"}, WidestPrefix: WidestPrefix{IPv4: 22, IPv6: 40},
		Durations: Durations{
			Deny: time.Hour, Gray: 2 * time.Hour, Allow: 3 * time.Hour, Mode: 4 * time.Hour, ModeOff: 5 * time.Minute,
			Patch: 6 * day, Indicator: 7 * time.Hour, Mute: 8 * time.Minute,
		},
		LongestDuration: 9 * day,
		SecondPerson:    []string{"forever", "broad", "close", "allow", "mode_off", "rules_everywhere", "source"},
		Approvers:       "S0LEADS", ApprovalFor: 10 * time.Minute,
		Alone: Alone{After: 4 * time.Minute, Longest: 30 * time.Minute, Tell: "S0LEADS"},
	}, c.Policy)
	require.Equal(t, Audit{Keep: 100 * day}, c.Audit)

}

func TestDefaultsHoldWhereKeysAreLeftOut(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(writeConfig(t, minimal+"sources:\n  - {name: office, ranges: [192.0.2.1]}\n"), nil)
	require.NoError(t, err)
	c.origins = nil
	require.Equal(t, &Config{
		Timezone: time.UTC,
		Slack:    Slack{APIURL: "https://slack.com/api/", Command: "/waf", MessagesPerSecond: 1, Burst: 4, EditsPerMinute: 40},
		Redis:    Redis{URL: "redis://127.0.0.1:6379/0"},
		Listen:   "127.0.0.1:8080",
		Accounts: []Account{{
			Name: "acme", APIURL: "https://api.example.com", Token: "t", Channel: "C0123ABCD",
			PollInterval: 15 * time.Second, Lookback: 24 * time.Hour, OngoingFor: 15 * time.Minute,
			Storm: Storm{Over: 10, In: time.Minute, EndsAfter: 10 * time.Minute},
			Quiet: Quiet{Ping: []string{"incident", "not_blocked"}},
		}},
		Sources: []Source{{Name: "office", Ranges: prefixes("192.0.2.1/32"), Deny: "never", Cards: true}},
		Policy: Policy{
			Changes: "rehearse", Viewers: []string{"*"}, WidestPrefix: WidestPrefix{IPv4: 24, IPv6: 48},
			Durations: Durations{
				Deny: 4 * time.Hour, Gray: 24 * time.Hour, Allow: time.Hour, Mode: 2 * time.Hour, ModeOff: 30 * time.Minute,
				Patch: 168 * time.Hour, Indicator: 4 * time.Hour, Mute: time.Hour,
			},
			LongestDuration: 720 * time.Hour, RenewWhileKnocking: 24 * time.Hour,
			SecondPerson: []string{"forever", "broad", "close", "allow", "mode_off", "rules_everywhere", "source"},
			ApprovalFor:  15 * time.Minute, Alone: Alone{After: 5 * time.Minute, Longest: time.Hour},
		},
		Audit: Audit{Keep: 9600 * time.Hour},
	}, c)
}

func TestChangesQuotedOrNot(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"on", "off", "rehearse"} {
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
	c, err := loadConfig("testdata/config/full.yaml", fullEnviron)
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
	_, err := loadConfig(writeConfig(t, `
slack: {bot_token: [xoxb-hidden], signing_secret: "hidden${", api_url: "https://user:hidden@slack.com/"}
redis: {url: "http://:hidden@redis"}
listen: ${LISTEN}
accounts:
  - {name: acme, api_url: "https://api.example.com", token: hidden, token_file: /nowhere}
    `), []string{"LISTEN=hidden"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hidden")
}
