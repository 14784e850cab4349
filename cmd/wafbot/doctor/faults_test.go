package doctor_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// impatient is enough for an answer that comes at all.
const impatient = time.Second

// patienceFor is short where nothing comes.
func patienceFor(kind string) time.Duration {
	if kind == "hang" || strings.HasPrefix(kind, "timeout") {
		return impatient
	}
	return 0
}

// Each fault of the service's that doctor can meet: at the first call, and at all the others.
func TestDoctorNamesFaultsOfTheService(t *testing.T) {
	t.Parallel()
	const again, console, base = "try again", "console", "api_url"
	d := newPatient(t, healthy)
	d.Slack.SetRateLimits(false)
	for kind, want := range map[string]struct{ says, fix string }{
		"status:400":      {"the service refuses to ", base},
		"inner:400":       {"the service refuses to ", base},
		"status:401":      {"doesn't accept the token", console},
		"unauthenticated": {"doesn't accept the token", console},
		"status:403":      {"the token may not ", console},
		"inner:403":       {"the token may not ", console},
		"status:404":      {"doesn't know how to ", base},
		"status:409":      {"the service refuses to ", base},
		"status:423":      {"locked its rules", again},
		"status:429":      {"takes no more requests", "poll_interval"},
		"status:500":      {"the service failed to ", again},
		"status:503":      {"the service failed to ", again},
		"500_applied":     {"the service failed to ", again},
		"html":            {"status 502: a page for people instead of JSON", base},
		"hang":            {"gave no answer in time", "firewall"},
		"reset":           {"broke the connection off", again},
		"reset_applied":   {"broke the connection off", again},
		"cut":             {"broke the connection off", again},
	} {
		t.Run(kind, func(t *testing.T) {
			says := func(what string) string {
				if strings.HasSuffix(want.says, " to ") || strings.HasSuffix(want.says, " not ") {
					return want.says + "read " + what
				}
				return want.says
			}
			d.WAF.ClearFaults()
			require.NoError(t, d.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: "POST /v1/user", Kind: kind}))
			e := d.examineWith(t, doctor.Options{Patience: patienceFor(kind)})
			require.Len(t, e.of(doctor.Wrong), 1, "%+v", e.of(doctor.Wrong))
			requireOne(t, e.of(doctor.Wrong), "account acme: ", says("its own user"), want.fix)
			requireOne(t, e.of(doctor.OK), "WAFBOT_SLACK_BOT_TOKEN")
			requireOne(t, append(e.of(doctor.OK), e.of(doctor.Warn)...), "redis", "can be written") // a warning where this machine is slow just then

			d.WAF.ClearFaults()
			reads := map[string]string{
				"POST /v1/objects/attack": "attacks", "POST /v1/objects/vuln": "vulnerabilities", "GET /v4/ip_rules": "IP lists",
				"POST /v1/objects/hint": "rules", "POST /v1/objects/action": "conditions",
			}
			for endpoint := range reads {
				require.NoError(t, d.WAF.SetFault(waf.Fault{Account: "acme", Endpoint: endpoint, Kind: kind}))
			}
			e = d.examineWith(t, doctor.Options{Patience: patienceFor(kind)})
			require.Len(t, e.of(doctor.Wrong), len(reads), "%+v", e.of(doctor.Wrong))
			for endpoint, what := range reads {
				requireOne(t, e.of(doctor.Wrong), "account acme ("+endpoint+"): ", says(what), want.fix)
			}
			requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
		})
	}
}

// Each fault of Slack's that doctor can meet: at the tokens' first calls, and at all the others.
func TestDoctorNamesFaultsOfSlack(t *testing.T) {
	t.Parallel()
	const later, install, take = "slack-status.com", "install the app again", "take the token from the app's page"
	d := newPatient(t, healthy)
	d.Slack.SetRateLimits(false)
	for kind, want := range map[string]struct{ says, fix string }{
		"ratelimited":            {"takes no more of these requests for 1s (ratelimited)", later},
		"ratelimited_posted":     {"takes no more of these requests for 1s (ratelimited)", later},
		"500":                    {"Slack failed: status 500", later},
		"500_posted":             {"Slack failed: status 500", later},
		"timeout":                {"gave no answer in time", "firewall"},
		"timeout_posted":         {"gave no answer in time", "firewall"},
		"archived":               {"the channel is archived (is_archived)", "unarchive it"},
		"missing_scope":          {"the token lacks the scope ", install},
		"token_revoked":          {"the token was revoked (token_revoked)", install},
		"account_inactive":       {"taken out of the workspace (account_inactive)", install},
		"invalid_auth":           {"doesn't know this token (invalid_auth)", take},
		"not_allowed_token_type": {"doesn't take this kind of token here (not_allowed_token_type)", take},
		"token_expired":          {"has expired, and wafbot doesn't renew tokens (token_expired)", "wafbot manifest"},
		"fatal_error":            {"a fault of its own (fatal_error)", later},
		"service_unavailable":    {"a fault of its own (service_unavailable)", later},
		"restricted_action":      {"settings don't let wafbot post (restricted_action)", "let wafbot post there"},
		"unheard_of":             {"Slack refuses it (unheard_of)", "look that name up"},
	} {
		t.Run(kind, func(t *testing.T) {
			for _, subjects := range []map[string][]string{
				{"auth.test": {"slack WAFBOT_SLACK_BOT_TOKEN"}, "apps.connections.open": {"slack WAFBOT_SLACK_APP_TOKEN"}},
				{
					"conversations.info": {"channel C0WAF0001", "channel C0RANDOM3"},
					"users.info":         {"people U0ANN0001", "people U0ROB0002"},
					"usergroups.list":    {"people user groups"},
					"chat.postMessage":   {"post accounts[0].routes[0] → C0RANDOM3", "post accounts[0].routes[1] → C0WAF0001"},
				},
			} {
				d.Slack.ClearFaults()
				faults := 0
				for method := range subjects {
					d.Slack.SetFault(workspace.Fault{Method: method, Kind: kind})
					faults += len(subjects[method])
				}
				e := d.examineWith(t, doctor.Options{Patience: patienceFor(kind), Post: true})
				require.Len(t, e.of(doctor.Wrong), faults, "%+v", e.of(doctor.Wrong))
				for method := range subjects {
					fix := want.fix
					if ofToken := strings.Contains(kind, "token") || kind == "invalid_auth" || kind == "missing_scope"; ofToken && method == "apps.connections.open" {
						fix = "make an app token (xapp-…) with connections:write: Basic Information, App-Level Tokens"
					}
					for _, subject := range subjects[method] {
						requireOne(t, e.of(doctor.Wrong), subject+": ", want.says, fix)
					}
				}
				requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
				requireOne(t, append(e.of(doctor.OK), e.of(doctor.Warn)...), "redis", "can be written") // a warning where this machine is slow just then
			}
		})
	}
}

func TestDoctorNamesWhatIsWrongWithRedis(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	locked := miniredis.RunT(t)
	locked.RequireAuth("redis-password")
	d, full := newPatient(t, healthy), miniredis.RunT(t)
	d.Slack.SetRateLimits(false)
	full.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	for _, tt := range []struct{ name, url, says, fix string }{
		{"away", "redis://" + unused + "/0", "nothing listens at 127.0.0.1:", "check WAFBOT_REDIS_URL"},
		{"silent", "redis://" + silent.Addr().String() + "/0", "gave no answer in time", "firewall"},
		{"no such host", "redis://redis.invalid:6379/0", "redis.invalid", "name service"},
		{"without password", "redis://" + locked.Addr() + "/0", "it wants a password (NOAUTH)", "redis://USER:PASSWORD@HOST"},
		{"wrong password", "redis://:redis-guess@" + locked.Addr() + "/0", "it doesn't take this user and password (WRONGPASS)", "check user and password"},
		{"TLS where there is none", "rediss://" + full.Addr() + "/0", "broke the connection off", "if it takes no TLS there, write the scheme without"},
		{"full", "redis://" + full.Addr() + "/0", "its memory is full (OOM)", "maxmemory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := d.with("WAFBOT_REDIS_URL=" + tt.url).examine(t)
			require.Len(t, e.of(doctor.Wrong), 1, "%+v", e.of(doctor.Wrong))
			requireOne(t, e.of(doctor.Wrong), "redis ", tt.says, tt.fix, "without Redis nothing is posted and nothing is changed")
			requireOne(t, e.of(doctor.OK), "WAFBOT_SLACK_BOT_TOKEN")
			requireOne(t, e.of(doctor.OK), "account acme: the token is of client 5 Acme")
			for _, f := range e.Findings {
				require.NotContains(t, f.Subject+f.Text+f.Fix, "redis-guess")
			}
		})
	}
}

func TestDoctorWithoutSlackAndService(t *testing.T) {
	t.Parallel()
	d := newPatient(t, strings.ReplaceAll(healthy, "API_URL", "http://"+unused)).with("WAFBOT_SLACK_API_URL=http://" + unused + "/api/")
	e := d.examineWith(t, doctor.Options{Post: true})
	require.Len(t, e.of(doctor.Wrong), 3)
	requireOne(t, e.of(doctor.Wrong), "WAFBOT_SLACK_BOT_TOKEN: nothing listens at "+unused, "check WAFBOT_SLACK_API_URL")
	requireOne(t, e.of(doctor.Wrong), "WAFBOT_SLACK_APP_TOKEN: nothing listens at "+unused, "check WAFBOT_SLACK_API_URL")
	requireOne(t, e.of(doctor.Wrong), "account acme: nothing listens at "+unused, "check accounts[0].api_url")
	requireOne(t, e.of(doctor.Note), "were not looked up", "no test card was posted")
}
