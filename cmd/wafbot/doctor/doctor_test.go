package doctor_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestDoctorFindsAllWell(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	d := newPatient(t, healthy).with("WAFBOT_REDIS_URL=redis://" + redis.Addr() + "/0")
	e := d.examine(t)
	require.True(t, e.OK)
	requireOne(t, e.of(doctor.OK), "WAFBOT_SLACK_BOT_TOKEN", "wafbot (U0WAFBOT)", "Acme (T0SANDBOX)")
	requireOne(t, e.of(doctor.OK), "WAFBOT_SLACK_APP_TOKEN", "opens Socket Mode (no link was taken)")
	requireOne(t, e.of(doctor.OK), "scope", "every scope")
	requireOne(t, e.of(doctor.OK), "channel C0WAF0001 #waf", "accounts[0].channel")
	requireOne(t, e.of(doctor.OK), "channel C0RANDOM3 #random", "accounts[0].routes[0].channel")
	requireOne(t, e.of(doctor.OK), "people U0ANN0001 Anna Weber", "WAFBOT_ADMINS")
	requireOne(t, e.of(doctor.OK), "people S0ONCALL @on-call", "accounts[0].routes[0].mention")
	requireOne(t, append(e.of(doctor.OK), e.of(doctor.Warn)...), "redis "+redis.Addr(), "can be written")
	requireOne(t, e.of(doctor.Note), "redis "+redis.Addr(), "version unknown")
	requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
	for _, what := range []string{"attacks", "vulnerabilities", "IP lists", "rules", "conditions"} {
		requireOne(t, e.of(doctor.OK), "may read "+what)
	}
	requireOne(t, e.of(doctor.Note), "can change: unknown until the first change is made")
	requireOne(t, e.of(doctor.Note), "applications with a name, but without an attack in the last 24 h: 7 Legacy")
	requireOne(t, e.of(doctor.Note), "WAFBOT_SLACK_SIGNING_SECRET", "only when Slack's first request arrives")

	require.Contains(t, printed(t, e), "\nok    channel C0WAF0001 #waf: wafbot is in it, for accounts[0].channel\n")

	for _, r := range d.WAF.Requests("acme") {
		write := strings.HasSuffix(r.Path, "/create") || strings.Contains(r.Path, "ip_rules") && r.Method == http.MethodPost
		require.False(t, write || r.Method == http.MethodDelete, "%s %s", r.Method, r.Path)
	}
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
	e := d.examineWith(t, doctor.Options{Post: true})
	require.True(t, e.OK)
	for channel, of := range map[string]string{"C0RANDOM3": "accounts[0].routes[0]", "C0WAF0001": "accounts[0].routes[1]"} {
		requireOne(t, e.of(doctor.OK), "post "+of+" → "+channel, "was posted")
		require.Len(t, d.Slack.Messages(channel), 1)
		text := d.Slack.Messages(channel)[0].Plain()
		require.Contains(t, text, "what "+of+" of acme takes arrives here. Nothing happened")
		require.NotContains(t, text, "S0ONCALL", "no one is mentioned")
	}

	d = newPatient(t, "")
	requireOne(t, d.examineWith(t, doctor.Options{Post: true}).of(doctor.OK), "post accounts[0] → C0WAF0001", "was posted")
	require.Len(t, d.Slack.Messages("C0WAF0001"), 1, "without routes the account's channel gets it")
}

func TestDoctorChecksTheWorkspace(t *testing.T) {
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
		requireOne(t, e.of(doctor.Wrong), parts...)
	}
	for _, parts := range [][]string{
		{"people U0GUEST04 Gail Guest: a guest: only full members of the workspace may act, for WAFBOT_ADMINS"},
		{"people U0EVE0005 Eve Stone: a member of another workspace"},
		{"people S0ONCALL @on-call: it has no members", "for WAFBOT_VIEWERS"},
	} {
		requireOne(t, e.of(doctor.Warn), parts...)
	}
	requireOne(t, e.of(doctor.OK), "people U0ANN0001 Anna Weber")
	requireOne(t, e.of(doctor.OK), "people U0GUEST05 Gus Guest") // who has no role can be called all the same
	requireOne(t, e.of(doctor.OK), "channel C0RANDOM3 #random")
}

// granting puts a proxy before the world's Slack that lists other scopes.
func (p patient) granting(t *testing.T, scopes string) patient {
	t.Helper()
	return p.with("WAFBOT_SLACK_API_URL=" + changing(t, p.URL()+"/slack/api/", func(r *http.Response) error {
		r.Header.Set("X-OAuth-Scopes", scopes)
		return nil
	}))
}

func TestDoctorComparesScopes(t *testing.T) {
	t.Parallel()
	world := newPatient(t, healthy)
	d := world.granting(t, "chat:write, commands,app_mentions:read,users:read,channels:history,channels:read,groups:read,groups:history,usergroups:read,files:write,chat:write.public")
	require.NoError(t, d.Slack.RemoveBot("C0RANDOM3"))
	e := d.examine(t)
	require.Len(t, e.of(doctor.Wrong), 1)
	requireOne(t, e.of(doctor.Wrong), "scope im:history: missing; it is for lines in a direct message to wafbot. Without it: messages to wafbot are ignored",
		"add im:history under OAuth & Permissions", "install the app again")
	requireOne(t, e.of(doctor.Note), "scope files:write: not needed")
	requireOne(t, e.of(doctor.Warn), "channel C0RANDOM3 #random: wafbot isn't in it: it can post there", "/invite @wafbot")

	e = world.granting(t, "").examine(t)
	requireOne(t, e.of(doctor.Note), "Slack didn't say which scopes")
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
		require.Len(t, e.of(doctor.Wrong), 1, tt.says)
		requireOne(t, e.of(doctor.Wrong), tt.says)
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
	require.Len(t, e.of(doctor.Wrong), 1)
	requireOne(t, e.of(doctor.Wrong), "WAFBOT_SLACK_APP_TOKEN: Socket Mode is switched off in the app's settings (socket_mode_not_enabled)", "switch it on")
}

// Slack takes a message a second and channel, after a few at once.
func TestDoctorPostsNoFasterThanSlackTakesThem(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy+strings.Repeat("      - {match: {kind: incident}}\n", 6))
	d.Slack.SetRateLimits(true)
	e := d.examineWith(t, doctor.Options{Post: true})
	require.Empty(t, e.of(doctor.Wrong))
	require.Len(t, d.Slack.Messages("C0WAF0001"), 7)
}

func TestDoctorThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := doctor.Run(ctx, doctor.Options{Environ: newPatient(t, healthy).environ})
	require.EqualError(t, err, "stopped before everything was checked")
	require.Empty(t, r.Findings, "half the findings would look like all")
}

func TestDoctorOnARealRedis(t *testing.T) {
	full.Only(t)
	t.Parallel()
	e := newPatient(t, healthy).with("WAFBOT_REDIS_URL=" + redistest.StartDurable(t).URL()).examine(t)
	requireOne(t, e.of(doctor.OK), "redis", "version")
	requireOne(t, e.of(doctor.OK), "redis", "it writes everything down (appendonly)")
	requireOne(t, e.of(doctor.OK), "redis", "it throws nothing away")
	require.True(t, e.OK)
}

func TestDoctorOnASecuredRedis(t *testing.T) {
	full.Only(t)
	t.Parallel()
	by := redistest.NewSecured(t)
	s := redistest.StartSecured(t, by)
	files := "cert_file: " + by.CertFile + ", key_file: " + by.KeyFile
	examine := func(url, tls string) report {
		return newPatient(t, healthy+"redis: {url: '"+url+"', key_prefix: 'wafbot:', tls: {"+tls+"}}\n").without("WAFBOT_REDIS_URL").examine(t)
	}
	e := examine(s.URL(), "ca_file: "+by.CAFile+", "+files)
	requireOne(t, append(e.of(doctor.OK), e.of(doctor.Warn)...), "redis", "can be written over TLS, all keys begin with wafbot:")
	require.Empty(t, e.of(doctor.Wrong))
	for _, tt := range []struct{ host, tls, says, fix string }{
		{"127.0.0.1", files, "isn't trusted", "redis.tls.ca_file"},
		{"localhost", "ca_file: " + by.CAFile + ", " + files, "not localhost", "connect to a host that it is for"},
		{"127.0.0.1", "ca_file: " + by.CAFile, "certificate required", "redis.tls.cert_file"},
	} {
		as := strings.NewReplacer("127.0.0.1", tt.host)
		e := examine(as.Replace(s.URL()), tt.tls)
		requireOne(t, e.of(doctor.Wrong), "redis "+as.Replace(s.Addr), tt.says, tt.fix)
		require.NotContains(t, printed(t, e), by.Password)
	}
	e = examine(strings.Replace(s.URL(), "rediss:", "redis:", 1), "")
	requireOne(t, e.of(doctor.Wrong), "redis "+s.Addr, "broke the connection off", "write rediss://")
}

func TestDoctorWarnsOfRedisClock(t *testing.T) {
	t.Parallel()
	wire := proxytest.Start(t, miniredis.RunT(t).Addr())
	wire.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return redistest.WrongTime(chunk, -2*time.Hour), true })
	e := newPatient(t, healthy).with("WAFBOT_REDIS_URL=redis://" + wire.Addr() + "/0").examine(t)
	require.True(t, e.OK, "wafbot works")
	requireOne(t, e.of(doctor.Warn), "redis "+wire.Addr(), "its clock is off this machine's by 2 h", "NTP")
	requireOne(t, e.of(doctor.OK), "account acme: its clock agrees with this machine's within 2 s")
}

// Slack gives an app ten links: the eleventh replica gets no clicks, unless they come over HTTP.
func TestDoctorWarnsOfMoreReplicasThanLinks(t *testing.T) {
	t.Parallel()
	redis := miniredis.RunT(t)
	beats := func(n int) {
		for i := range n {
			_, err := redis.ZAdd("{work}:beats", float64(time.Now().UnixMilli()), fmt.Sprint("replica ", i))
			require.NoError(t, err)
		}
	}
	d := newPatient(t, healthy).with("WAFBOT_REDIS_URL=redis://" + redis.Addr() + "/0")
	beats(10)
	require.NotContains(t, printed(t, d.examine(t)), "Socket Mode links")
	beats(11)
	requireOne(t, d.examine(t).of(doctor.Warn), "slack replicas", "11 replicas run, and Slack gives an app 10 Socket Mode links", "over HTTP")
	beats(11)
	require.NotContains(t, printed(t, d.without("WAFBOT_SLACK_APP_TOKEN").examine(t)), "Socket Mode links")
}

func TestDoctorNamesTheStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	d := newPatient(t, healthy)
	for version, says := range map[string][]string{
		"1":  {"holds the state of an older wafbot, which this one can't read", "give redis.key_prefix a value that it never had", "docs/upgrading.md"},
		"99": {"holds the state of a newer wafbot", "update this one"},
	} {
		redis := miniredis.RunT(t)
		require.NoError(t, redis.Set("{work}:version", version))
		e := d.with("WAFBOT_REDIS_URL=redis://" + redis.Addr() + "/0").examine(t)
		requireOne(t, e.of(doctor.Wrong), append([]string{"redis " + redis.Addr()}, says...)...)
	}
}
