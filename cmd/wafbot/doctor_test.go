package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// examined is what `wafbot doctor` prints for programs.
type examined struct {
	OK       bool
	Findings []struct{ Check, Subject, State, Text, Mend string }
}

// of are the findings of a state as CHECK SUBJECT: TEXT → MEND.
func (e examined) of(state string) []string {
	var lines []string
	for _, f := range e.Findings {
		if f.State == state {
			lines = append(lines, f.Check+" "+f.Subject+": "+f.Text+" → "+f.Mend)
		}
	}
	return lines
}

// requireOne demands exactly one line that holds all the parts.
func requireOne(t *testing.T, lines []string, parts ...string) {
	t.Helper()
	n := 0
	for _, line := range lines {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			n++
		}
	}
	require.Equal(t, 1, n, "%q in\n%s", parts, strings.Join(lines, "\n"))
}

// examine runs doctor as a program does, and checks what holds always: the code, the order, and that no secret is told.
func (d desk) examine(t *testing.T, args ...string) examined {
	t.Helper()
	return d.examinePatiently(t, 0, args...)
}

// examinePatiently is examine with so much patience for one answer.
func (d desk) examinePatiently(t *testing.T, patience time.Duration, args ...string) examined {
	t.Helper()
	got := runWith(t, terminal{environ: d.environ, args: append([]string{"doctor", "--json"}, args...), in: strings.NewReader(""), patience: patience})
	e := decode[examined](t, got.out)
	require.Equal(t, len(e.of("wrong")) == 0, e.OK)
	require.Equal(t, map[bool]int{true: exitDone, false: exitFailed}[e.OK], got.code, "%+v", got)
	rank := map[string]int{"wrong": 0, "warn": 1, "note": 2, "ok": 3}
	for i, f := range e.Findings {
		require.NotEmpty(t, f.Text)
		if f.State == "wrong" || f.State == "warn" {
			require.NotEmpty(t, f.Mend, "%+v", f)
		}
		if i > 0 {
			require.LessOrEqual(t, rank[e.Findings[i-1].State], rank[f.State], "what must be mended comes first")
		}
	}
	for _, variable := range d.environ {
		if name, secret, _ := strings.Cut(variable, "="); strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET") {
			require.NotContains(t, got.out+got.err, secret, name)
		}
	}
	return e
}

// newPatient is a world with a configuration of two routes, a user group and two applications.
func newPatient(t *testing.T, yaml string) desk {
	t.Helper()
	d := newDesk(t, "")
	d.Slack.SetUserGroup(workspace.UserGroup{ID: "S0ONCALL", Handle: "on-call", Name: "On call"})
	var environ []string
	for _, variable := range d.environ {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "WAFBOT_API_URL":
			yaml = strings.ReplaceAll(yaml, "API_URL", value)
		case "WAFBOT_API_TOKEN":
			yaml = strings.ReplaceAll(yaml, "API_TOKEN", value)
		case "WAFBOT_CHANNEL":
		default:
			environ = append(environ, variable)
		}
	}
	d.environ = environ
	return d.with("WAFBOT_CONFIG=" + writeConfig(t, yaml))
}

const healthy = `accounts:
  - name: acme
    api_url: API_URL
    token: API_TOKEN
    channel: C0WAF0001
    applications: {4: Shop, 7: Legacy}
    routes:
      - {match: {kind: incident}, mention: S0ONCALL, channel: C0RANDOM3}
      - {match: {kind: attack}}
`

func TestDoctorFindsAllWell(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	d := newPatient(t, healthy).with("WAFBOT_REDIS_URL=redis://" + redis.Addr() + "/0")
	e := d.examine(t)
	require.True(t, e.OK)
	requireOne(t, e.of("ok"), "WAFBOT_SLACK_BOT_TOKEN", "wafbot (U0WAFBOT)", "Acme (T0SANDBOX)")
	requireOne(t, e.of("ok"), "WAFBOT_SLACK_APP_TOKEN", "opens Socket Mode (no link was taken)")
	requireOne(t, e.of("ok"), "scope", "every scope")
	requireOne(t, e.of("ok"), "channel C0WAF0001 #waf", "accounts[0].channel")
	requireOne(t, e.of("ok"), "channel C0RANDOM3 #random", "accounts[0].routes[0].channel")
	requireOne(t, e.of("ok"), "people U0ANN0001 Anna Weber", "WAFBOT_ADMINS")
	requireOne(t, e.of("ok"), "people S0ONCALL @on-call", "accounts[0].routes[0].mention")
	requireOne(t, append(e.of("ok"), e.of("warn")...), "redis "+redis.Addr(), "can be written")
	requireOne(t, e.of("note"), "redis "+redis.Addr(), "version unknown")
	requireOne(t, e.of("ok"), "account acme: the token is of client 5 Acme")
	for _, what := range []string{"attacks", "vulnerabilities", "IP lists", "rules", "conditions"} {
		requireOne(t, e.of("ok"), "may read "+what)
	}
	requireOne(t, e.of("note"), "can change: unknown until the first change is made")
	requireOne(t, e.of("note"), "applications with a name, but without an attack in the last 24 h: 7 Legacy")
	requireOne(t, e.of("note"), "WAFBOT_SLACK_SIGNING_SECRET", "only when Slack's first request arrives")

	plain := typed(t, d.environ, "doctor")
	require.Equal(t, exitDone, plain.code, "%+v", plain)
	require.Empty(t, plain.err)
	require.Contains(t, plain.out, "\nok    channel C0WAF0001 #waf: wafbot is in it, for accounts[0].channel\n")

	require.Empty(t, d.changes())
	for _, call := range d.Slack.Calls() {
		require.NotContains(t, call.Method, "chat.", "nothing is posted")
	}
	for _, key := range redis.Keys() {
		require.Positive(t, redis.TTL(key), "%s stays", key)
	}
}

func TestDoctorPostsATestCardForEachRoute(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	e := d.examine(t, "--post")
	require.True(t, e.OK)
	for channel, of := range map[string]string{"C0RANDOM3": "accounts[0].routes[0]", "C0WAF0001": "accounts[0].routes[1]"} {
		requireOne(t, e.of("ok"), "post "+of+" → "+channel, "was posted")
		require.Len(t, d.Slack.Messages(channel), 1)
		text := d.Slack.Messages(channel)[0].Plain()
		require.Contains(t, text, "what "+of+" of acme takes arrives here. Nothing happened")
		require.NotContains(t, text, "S0ONCALL", "nobody is called")
	}

	d = newDesk(t, "")
	requireOne(t, d.examine(t, "--post").of("ok"), "post accounts[0] → C0WAF0001", "was posted")
	require.Len(t, d.Slack.Messages("C0WAF0001"), 1, "without routes the account's channel gets it")
}

func TestDoctorLooksAtTheWorkspace(t *testing.T) {
	t.Parallel()
	d := newPatient(t, `accounts:
  - name: acme
    api_url: API_URL
    token: API_TOKEN
    client_id: 77
    channel: C0OLD0005
    routes:
      - {match: {type: sqli}, channel: C0BOARD04, mention: U0NOBODY0}
      - {match: {type: xss}, channel: C0WAF0002, mention: S0OLD0000}
      - {match: {type: rce}, channel: C0RANDOM3, mention: S0UNKNOWN}
      - {match: {type: xxe}, mention: U0GUEST05}
policy:
  viewers: [S0ONCALL]
`)
	require.NoError(t, d.Slack.RemoveBot("C0WAF0002"))
	d.Slack.SetUserGroup(workspace.UserGroup{ID: "S0OLD0000", Handle: "old", Name: "Old", Disabled: true})
	rob, _ := d.Slack.UserByName("rob")
	rob.Deleted, rob.RealName = true, "Rob\x1b[2J\u202eDiaz"
	require.NoError(t, d.Slack.SetUser(rob))
	require.NoError(t, d.Slack.SetUser(workspace.User{ID: "U0GUEST05", Name: "gus", RealName: "Gus Guest", Restricted: true}))
	viewers := []string{"WAFBOT_VIEWERS=S0ONCALL", "WAFBOT_ADMINS=U0ANN0001,U0GUEST04,U0EVE0005"}
	e := d.with(viewers...).examine(t)
	for _, parts := range [][]string{
		{"channel C0OLD0005 #waf-old: archived", "accounts[0].channel", "unarchive it"},
		{"channel C0BOARD04: no channel with this id can be seen by wafbot (channel_not_found)", "/invite @wafbot"},
		{"channel C0WAF0002 #waf-globex: wafbot isn't in it", "/invite @wafbot"},
		{"people U0NOBODY0: there is no user with this id (user_not_found), for accounts[0].routes[0].mention"},
		{`people U0ROB0002 Rob\x1b[2J\u{202e}Diaz: deactivated, for WAFBOT_RESPONDERS`},
		{"people S0OLD0000 @old: disabled"},
		{"people S0UNKNOWN: no user group with this id"},
		{"account acme: the token is of client 5 Acme, but accounts[0].client_id is 77 → write client_id: 5, or the token of client 77"},
	} {
		requireOne(t, e.of("wrong"), parts...)
	}
	for _, parts := range [][]string{
		{"people U0GUEST04 Gail Guest: a guest: only full members of the workspace may act, for WAFBOT_ADMINS"},
		{"people U0EVE0005 Eve Stone: a member of another workspace"},
		{"people S0ONCALL @on-call: nobody is in it", "for WAFBOT_VIEWERS"},
	} {
		requireOne(t, e.of("warn"), parts...)
	}
	requireOne(t, e.of("ok"), "people U0ANN0001 Anna Weber")
	requireOne(t, e.of("ok"), "people U0GUEST05 Gus Guest") // who has no role can be called all the same
	requireOne(t, e.of("ok"), "channel C0RANDOM3 #random")
}

// changing puts a proxy before an address, without its path, that changes what comes back.
func changing(t *testing.T, address string, change func(*http.Response) error) string {
	t.Helper()
	behind, err := url.Parse(address)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
	proxy.ModifyResponse = change
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + behind.Path
}

// granting puts a Slack before the world's that tells of other scopes.
func (d desk) granting(t *testing.T, scopes string) desk {
	t.Helper()
	return d.with("WAFBOT_SLACK_API_URL=" + changing(t, d.URL()+"/slack/api/", func(r *http.Response) error {
		r.Header.Set("X-OAuth-Scopes", scopes)
		return nil
	}))
}

func TestDoctorComparesScopes(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy).granting(t, "chat:write, commands,app_mentions:read,users:read,channels:history,channels:read,groups:read,groups:history,usergroups:read,files:write,chat:write.public")
	require.NoError(t, d.Slack.RemoveBot("C0RANDOM3"))
	e := d.examine(t)
	require.Len(t, e.of("wrong"), 1)
	requireOne(t, e.of("wrong"), "scope im:history: missing; it is for lines in a direct message to wafbot. Without it: messages to wafbot are not heard",
		"add im:history under OAuth & Permissions", "install the app again")
	requireOne(t, e.of("note"), "scope files:write: not needed")
	requireOne(t, e.of("warn"), "channel C0RANDOM3 #random: wafbot isn't in it: it can post there", "/invite @wafbot")

	e = newPatient(t, healthy).granting(t, "").examine(t)
	requireOne(t, e.of("note"), "Slack didn't tell the token's scopes")
}

func TestDoctorKnowsTokensByTheirKind(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	for _, tt := range []struct{ bot, app, says string }{
		{"xapp-secret-1", "xapp-sandbox-acme", "WAFBOT_SLACK_BOT_TOKEN: is of the wrong kind: app token instead of bot token"},
		{"xoxp-secret-2", "xapp-sandbox-acme", "WAFBOT_SLACK_BOT_TOKEN: is of the wrong kind: user token instead of bot token"},
		{"xoxb-sandbox-acme", "xoxb-secret-3", "WAFBOT_SLACK_APP_TOKEN: is of the wrong kind: bot token instead of app token"},
		{"xoxb-secret-4", "xapp-sandbox-acme", "WAFBOT_SLACK_BOT_TOKEN: Slack doesn't know this token (invalid_auth)"},
		{"xoxb-sandbox-acme", "xapp-secret-5", "WAFBOT_SLACK_APP_TOKEN: Slack doesn't know this token (invalid_auth)"},
		{"xoxe.xoxb-secret-6", "xapp-sandbox-acme", "WAFBOT_SLACK_BOT_TOKEN: Slack doesn't know this token (invalid_auth)"},
	} {
		e := d.with("WAFBOT_SLACK_BOT_TOKEN="+tt.bot, "WAFBOT_SLACK_APP_TOKEN="+tt.app).examine(t)
		require.Len(t, e.of("wrong"), 1, tt.says)
		requireOne(t, e.of("wrong"), tt.says)
	}
	for _, call := range d.Slack.Calls() {
		require.NotEqual(t, "not_allowed_token_type", call.Error, "a token of the wrong kind is not sent")
	}
}

func TestDoctorNoticesThatSocketModeIsOff(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	d.Slack.SetSocketMode(false)
	e := d.examine(t)
	require.Len(t, e.of("wrong"), 1)
	requireOne(t, e.of("wrong"), "WAFBOT_SLACK_APP_TOKEN: Socket Mode is switched off in the app's settings (socket_mode_not_enabled)", "switch it on")
}

// Slack takes a message a second and channel, after a few at once.
func TestDoctorPostsNoFasterThanSlackTakesThem(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy+strings.Repeat("      - {match: {kind: incident}}\n", 6))
	d.Slack.SetRateLimits(true)
	e := d.examine(t, "--post")
	require.Empty(t, e.of("wrong"))
	require.Len(t, d.Slack.Messages("C0WAF0001"), 7)
}

func TestDoctorThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, told strings.Builder
	code := run(ctx, terminal{environ: newPatient(t, healthy).environ, args: []string{"doctor"}, out: &out, err: &told})
	require.Equal(t, exitFailed, code)
	require.Empty(t, out.String(), "half the findings would look like all")
	require.Contains(t, told.String(), "stopped before everything was looked at")
}

func TestDoctorOnARealRedis(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	e := newPatient(t, healthy).with("WAFBOT_REDIS_URL=" + realRedis(t).url).examine(t)
	requireOne(t, e.of("ok"), "redis", "version")
	requireOne(t, e.of("ok"), "redis", "it writes everything down (appendonly)")
	requireOne(t, e.of("ok"), "redis", "it throws nothing away")
	require.True(t, e.OK)
}
