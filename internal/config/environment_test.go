package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
)

func TestEnvironmentAlone(t *testing.T) {
	t.Parallel()
	c, err := config.Load("", []string{
		"PATH=/bin", "WAFBOT_SLACK_BOT_TOKEN=xoxb", "WAFBOT_SLACK_APP_TOKEN=xapp", "WAFBOT_SLACK_SIGNING_SECRET=sign",
		"WAFBOT_SLACK_API_URL=http://127.0.0.1:9000/api/", "WAFBOT_REDIS_URL=redis://h:1/2", "WAFBOT_LISTEN=:9090",
		"WAFBOT_API_URL=http://127.0.0.1:9001", "WAFBOT_API_TOKEN=a${b}$$", "WAFBOT_CHANNEL=C0123ABCD",
		"WAFBOT_VIEWERS=", "WAFBOT_RESPONDERS=*", "WAFBOT_ADMINS=U0ANN, U0BOB", "WAFBOT_NEVER_DENY=192.0.2.1, 198.51.100.0/24", "WAFBOT_CHANGES=on",
	})
	require.NoError(t, err)
	require.NoError(t, c.CheckServe())

	want := keys(load(t, minimal))
	want.Slack.BotToken, want.Slack.AppToken, want.Slack.SigningSecret = "xoxb", "xapp", "sign"
	want.Slack.APIURL = "http://127.0.0.1:9000/api/"
	want.Redis.URL = "redis://h:1/2"
	want.Listen = ":9090"
	want.Accounts[0].Name, want.Accounts[0].APIURL, want.Accounts[0].Token = "default", "http://127.0.0.1:9001", "a${b}$$"
	want.Policy.Viewers, want.Policy.Responders, want.Policy.Admins = []string{}, []string{"*"}, []string{"U0ANN", "U0BOB"}
	want.Sources = []config.Source{{Name: "WAFBOT_NEVER_DENY", Ranges: prefixes("192.0.2.1/32", "198.51.100.0/24"), Deny: "never", Cards: true}}
	want.Policy.Changes = "on"
	require.Equal(t, want, keys(c))
}

func TestEnvironmentReadsSecretsFromFiles(t *testing.T) {
	t.Parallel()
	bot, acme := filepath.Join("testdata", "secrets", "bot"), filepath.Join("testdata", "secrets", "acme")
	c, err := config.Load("", []string{
		"WAFBOT_SLACK_BOT_TOKEN_FILE=" + bot, "WAFBOT_SLACK_APP_TOKEN_FILE=" + bot, "WAFBOT_SLACK_SIGNING_SECRET_FILE=" + acme,
		"WAFBOT_API_URL=https://api.example.com", "WAFBOT_API_TOKEN_FILE=" + acme, "WAFBOT_CHANNEL=C0123ABCD",
	})
	require.NoError(t, err)
	require.NoError(t, c.CheckServe())
	require.Equal(t, "xoxb-from-file", c.Slack.BotToken.Reveal())
	require.Equal(t, "xoxb-from-file", c.Slack.AppToken.Reveal())
	require.Equal(t, "token-of-acme", c.Slack.SigningSecret.Reveal())
	require.Equal(t, acme, c.Accounts[0].TokenFile)
	require.Empty(t, c.Accounts[0].Token.Reveal(), "the API client reads the account's token, again and again")

	_, err = config.Load("", []string{"WAFBOT_API_URL=https://api.example.com", "WAFBOT_API_TOKEN=t", "WAFBOT_REDIS_URL_FILE=" + acme})
	require.EqualError(t, err, "environment: WAFBOT_REDIS_URL_FILE: is no Redis address; "+
		"write it like redis://HOST:6379/0, redis-sentinel://… or redis-cluster://…, with TLS rediss://…, redis-sentinels://… or redis-clusters://…")
}

func TestEnvironmentWinsOverTheFile(t *testing.T) {
	t.Parallel()
	bot, err := filepath.Abs(filepath.Join("testdata", "secrets", "bot"))
	require.NoError(t, err)
	c := load(t, minimal+`
slack: {bot_token_file: `+bot+`, signing_secret: from the file, api_url: "https://file.example.com/"}
redis: {url_file: `+bot+`}
listen: 127.0.0.1:1
policy: {changes: on, viewers: [U0FILE], responders: [U0FILE, S0FILE], admins: [U0FILE]}
`,
		"WAFBOT_SLACK_BOT_TOKEN=from the environment", "WAFBOT_SLACK_SIGNING_SECRET_FILE="+bot, "WAFBOT_SLACK_API_URL=https://env.example.com/",
		"WAFBOT_REDIS_URL=rediss://env", "WAFBOT_LISTEN=127.0.0.1:2", "WAFBOT_CHANGES=off", "WAFBOT_VIEWERS=U0ENV", "WAFBOT_RESPONDERS=U0ENV", "WAFBOT_ADMINS=")
	require.Equal(t, "from the environment", c.Slack.BotToken.Reveal())
	require.Equal(t, "xoxb-from-file", c.Slack.SigningSecret.Reveal())
	require.Equal(t, "https://env.example.com/", c.Slack.APIURL)
	require.Equal(t, "rediss://env", c.Redis.URL.Reveal())
	require.Equal(t, "127.0.0.1:2", c.Listen)
	require.Equal(t, "off", c.Policy.Changes)
	require.Equal(t, []string{"U0ENV"}, c.Policy.Viewers)
	require.Equal(t, []string{"U0ENV"}, c.Policy.Responders)
	require.Empty(t, c.Policy.Admins)
}

func TestFileNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	path := write(t, minimal+"listen: :1\n")
	c, err := config.Load("", []string{"WAFBOT_CONFIG=" + path})
	require.NoError(t, err)
	require.Equal(t, ":1", c.Listen)

	c, err = config.Load(write(t, minimal+"listen: :2\n"), []string{"WAFBOT_CONFIG=" + path})
	require.NoError(t, err)
	require.Equal(t, ":2", c.Listen)

	_, err = config.Load(filepath.Join(t.TempDir(), "nowhere.yaml"), nil)
	require.ErrorContains(t, err, "read config: open ")
}

func TestEnvironmentGivesTheFileItsAccount(t *testing.T) {
	t.Parallel()
	c := load(t, "listen: :1\n", "WAFBOT_API_URL=https://api.example.com", "WAFBOT_API_TOKEN=t", "WAFBOT_CHANNEL=C0123ABCD")
	require.Equal(t, "default", c.Accounts[0].Name)
	require.Equal(t, ":1", c.Listen)
}

func TestEmptyVariables(t *testing.T) {
	t.Parallel()
	c := load(t, minimal+"listen: :1\nslack: {bot_token: b}\npolicy: {changes: on}\n",
		"WAFBOT_LISTEN=", "WAFBOT_SLACK_BOT_TOKEN=", "WAFBOT_SLACK_BOT_TOKEN_FILE=", "WAFBOT_API_URL=", "WAFBOT_NEVER_DENY=", "WAFBOT_CONFIG=")
	require.Equal(t, ":1", c.Listen)
	require.Equal(t, "b", c.Slack.BotToken.Reveal())
	require.Empty(t, c.Sources, "present and empty: thought of, and there are none")
}

func TestVariablesOfKubernetesServices(t *testing.T) {
	t.Parallel()
	load(t, minimal, "WAFBOT_SERVICE_HOST=10.0.0.1", "WAFBOT_SERVICE_PORT=80", "WAFBOT_SERVICE_PORT_HTTP=80", "WAFBOT_PORT=tcp://10.0.0.1:80",
		"WAFBOT_PORT_80_TCP=tcp://10.0.0.1:80", "WAFBOT_PORT_80_TCP_PROTO=tcp", "WAFBOT_PORT_80_TCP_ADDR=10.0.0.1", "WAFBOT_REDIS_PORT=tcp://[2001:db8::1]:6379",
		"WAFBOT_REDIS_SERVICE_HOST=10.0.0.2")
}

func TestWhatIsMissingInTheEnvironment(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", []string{"WAFBOT_CHANNEL=waf", "WAFBOT_CHANGES=on"})
	require.EqualError(t, err, `environment: accounts[0].api_url: missing; set WAFBOT_API_URL
environment: accounts[0].token: missing; set WAFBOT_API_TOKEN
environment: WAFBOT_CHANNEL: "waf" is no channel id; write the id (C…) that Slack shows at the end of the channel's details
environment: WAFBOT_CHANGES: is on, but nothing says which addresses must not be denied by mistake (your CDN, office, health checks); `+
		`write "sources:" with them into the file, "sources: []" if there are none, or set WAFBOT_NEVER_DENY, which may be empty`)
}

func TestOnlyServeNeedsSlack(t *testing.T) {
	t.Parallel()
	path := write(t, `
accounts:
  - {name: acme, api_url: "https://api.example.com", token: t}
`)
	c, err := config.Load(path, nil)
	require.NoError(t, err)
	require.EqualError(t, c.CheckServe(), path+`:1:1: slack.bot_token: missing; set it, or WAFBOT_SLACK_BOT_TOKEN (the app's OAuth & Permissions page shows it)
`+path+`:1:1: slack.app_token: missing, and slack.signing_secret too: no click would reach wafbot; for Socket Mode set it, or WAFBOT_SLACK_APP_TOKEN `+
		`(an app-level token with connections:write), for signed HTTP give slack.signing_secret (the app's Basic Information page has both)
`+path+`:3:5: accounts[0].channel: missing; set it`)
}

func TestProblemsOfASourceFileAreAtItsLines(t *testing.T) {
	t.Parallel()
	list, err := filepath.Abs(filepath.Join("testdata", "cdn-bad.txt"))
	require.NoError(t, err)
	path := write(t, minimal+"sources:\n  - {dney: never, name: CDN, file: "+list+"}\n")
	_, err = config.Load(path, []string{"WAFBOT_LISTEN=x"})
	require.EqualError(t, err, path+`:5:6: sources[0].dney: unknown key; did you mean "deny"?
`+list+`:2:1: sources[0].file: "not an address" is neither an address nor a range; write it like 192.0.2.7 or 192.0.2.0/24
`+list+`:3:1: sources[0].file: "192.0.2.9/24" has bits beyond its /24; write 192.0.2.0/24, or the address alone
environment: WAFBOT_LISTEN: "x" is no address to listen on; write it like 127.0.0.1:8080 or :8080`)
}

func FuzzLoadConfig(f *testing.F) {
	f.Add("", "")
	f.Add(minimal, "WAFBOT_ADMINS=U0ANN,S0ALL")
	f.Add("a: &a [*a]\naccounts: &b [*b, {routes: *b}]\n? {}\n: ${", "WAFBOT_NEVER_DENY=::ffff:1.2.3.4/96")
	f.Add("accounts: [{applications: {4: {name: x}}, routes: [{match: {kind: incident}, page: {url: x}}]}]", "WAFBOT_API_URL=%")
	f.Add("runbooks: {\"*\": 'https://%zz'}\npolicy: {changes: on, terminal: {a: b}, durations: {deny: 1d}}\nsources: []", "=")
	f.Fuzz(func(t *testing.T, yaml, variable string) {
		c, err := config.Load(write(t, yaml), []string{variable})
		if err != nil {
			require.Nil(t, c)
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, c.Accounts)
		_ = c.CheckServe()
		if !strings.Contains(yaml, "!") { // a tag makes another type of a text, which the loader leaves one
			requireSchemaAgrees(t, yaml, "")
		}
	})
}

// What is shown is a configuration that comes to the same, but for the secrets.
func TestShownConfigurationMeansTheSame(t *testing.T) {
	t.Parallel()
	shown := func(c *config.Config, environ ...string) string {
		text, err := c.Show()
		require.NoError(t, err)
		for _, entry := range environ {
			_, value, _ := strings.Cut(entry, "=")
			require.NotContains(t, string(text), value)
		}
		return string(text)
	}
	full, err := config.Load("testdata/full.yaml", fullEnviron)
	require.NoError(t, err)
	wd, err := os.Getwd()
	require.NoError(t, err)
	text := strings.ReplaceAll(shown(full, fullEnviron...), ": testdata/", ": "+filepath.Join(wd, "testdata")+"/")
	require.NotContains(t, text, "literal$token")
	text = strings.ReplaceAll(text, "url: '[redacted]'", "url: redis://127.0.0.1:6379") // must be an address
	again := load(t, text)
	text, was := shown(again), shown(full)
	require.Equal(t, strings.ReplaceAll(was, ": testdata/", ": "+filepath.Join(wd, "testdata")+"/"), text)
	require.Contains(t, text, "renew_while_active: 0s", "what was switched off stays so")

	merged := load(t, "account_defaults: {storm: {over: 3}, routes: [], console_url: 'https://h/$$'}\n"+minimal+"sources: []\npolicy: {changes: on}\n", "WAFBOT_ADMINS=")
	for _, key := range []string{"over: 3", "routes: []", "sources: []", "admins: []", "changes: on", "poll_interval: 15s", "console_url: https://h/$$"} {
		require.Contains(t, shown(merged), key)
	}
	require.NotContains(t, shown(merged), "account_defaults")
}

// However an account is logged, by itself or within something else, none of its secrets is shown: not as text, and
// neither quoted nor as hex digits.
func TestNoSecretOfAnAccountIsShown(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	a := config.Default[config.Account]()
	a.Name, a.Token = "acme", secret
	a.Routes = []config.Route{{Page: &config.Page{Name: "phone", URL: secret, WebhookSecret: secret}}}
	within := struct {
		Account *config.Account
		Page    config.Page
		All     map[string]config.Account
		Config  *config.Config
	}{&a, *a.Routes[0].Page, map[string]config.Account{"acme": a}, &config.Config{Accounts: []config.Account{a}}}
	said := map[string]string{}
	for _, value := range []any{a, &a, within, []config.Account{a}, a.Token, &a.Token, *a.Routes[0].Page, a.Routes[0].Page} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%10.3s", "%t"} {
			said[fmt.Sprintf("%s of %T", verb, value)] = fmt.Sprintf(verb, value)
		}
		said[fmt.Sprintf("print of %T", value)] = fmt.Sprint(value)
		data, err := json.Marshal(value)
		require.NoError(t, err)
		said[fmt.Sprintf("JSON of %T", value)] = string(data)
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).With("with", value).Info("logged", "value", value, slog.Group("group", "value", value))
		}
		said[fmt.Sprintf("log of %T", value)] = out.String()
	}
	for how, text := range said {
		for _, shown := range []string{secret, "733363723374", "73 33 63", "s3c", "115 51 99"} {
			require.NotContains(t, text, shown, how)
		}
	}
	require.Contains(t, said["%+v of config.Account"], "Token:[redacted]", "it is seen that there is one")
	require.Contains(t, said["JSON of config.Account"], `"Token":"[redacted]"`)
}

func TestSummaryHours(t *testing.T) {
	t.Parallel()
	daily := config.Summary{At: "08:00"}
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(text string) time.Time {
		moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		require.NoError(t, err)
		return moment
	}
	for _, tt := range []struct{ now, last, next string }{
		{"2026-11-21 08:00", "2026-11-21 08:00", "2026-11-22 08:00"},
		{"2026-11-21 07:59", "2026-11-20 08:00", "2026-11-21 08:00"},
		{"2026-11-30 23:59", "2026-11-30 08:00", "2026-12-01 08:00"},
		{"2026-10-24 12:00", "2026-10-24 08:00", "2026-10-25 08:00"}, // the clocks go back in that night
	} {
		last, next := daily.Around(at(tt.now))
		require.True(t, last.Equal(at(tt.last)) && next.Equal(at(tt.next)), "%s: %s, %s", tt.now, last, next)
	}
	_, next := daily.Around(at("2026-10-24 12:00"))
	require.Equal(t, 21*time.Hour, next.Sub(at("2026-10-24 12:00")))
}
