package sandbox_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// run starts a world and closes it with the test, which fails when Run does.
func run(t *testing.T, cfg sandbox.Config) *sandbox.World {
	t.Helper()
	w, err := sandbox.New(cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return w
}

type client struct {
	t *testing.T
	w *sandbox.World
}

func (c client) send(req *http.Request) (int, map[string]any) {
	c.t.Helper()
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := browser.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	var answer map[string]any
	require.NoError(c.t, json.Unmarshal(raw, &answer), "%s", raw)
	return res.StatusCode, answer
}

func (c client) request(method, path, body string) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.w.URL()+path, strings.NewReader(body))
	require.NoError(c.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (c client) get(path string) map[string]any {
	c.t.Helper()
	status, answer := c.send(c.request("GET", path, ""))
	require.Equal(c.t, 200, status, "%s: %v", path, answer)
	return answer
}

func (c client) post(path, body string) map[string]any {
	c.t.Helper()
	status, answer := c.send(c.request("POST", path, body))
	require.Equal(c.t, 200, status, "%s: %v", path, answer)
	return answer
}

// refused returns the error of a POST that must have that status.
func (c client) refused(status int, path, body string) string {
	c.t.Helper()
	got, answer := c.send(c.request("POST", path, body))
	require.Equal(c.t, status, got, "%s: %v", path, answer)
	require.NotEmpty(c.t, answer["error"])
	return answer["error"].(string)
}

func quiet(t *testing.T) client {
	t.Helper()
	return client{t, run(t, sandbox.Config{Quiet: true, Seed: 1})}
}

func TestEveryCallIsListedAndDocumented(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	text, err := os.ReadFile("../../docs/sandbox-api.md")
	require.NoError(t, err)
	calls := c.get("/sandbox/")["calls"].([]any)
	require.Greater(t, len(calls), 20)
	for _, listed := range calls {
		call := listed.(map[string]any)
		require.NotEmpty(t, call["does"])
		require.Contains(t, string(text), "`"+call["method"].(string)+" "+call["path"].(string)+"`")
		if call["method"] == "POST" {
			require.Contains(t, call, "body", "%s has no example", call["path"])
		}
	}
}

func TestAnAttackIsStartedChangedAndStopped(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	started := c.post("/sandbox/attacks", `{"account":"acme","sources":[{"ip":"203.0.113.9","per_second":2}],"started":"1m"}`)
	attack := started["attacks"].([]any)[0].(map[string]any)
	path := "/sandbox/attacks/" + attack["id"].(string)

	c.post(path+"/grow", `{"factor":10}`)
	c.post(path+"/hits", `{"hits":5000}`)
	c.post(path+"/incident", `{"id":812,"title":"SQL injection in login","threat":90}`)
	c.post(path+"/stop", ``)

	state := c.get("/sandbox/service/acme")
	now := state["attacks"].([]any)[0].(map[string]any)
	require.Equal(t, 20.0, now["per_second"])
	require.GreaterOrEqual(t, now["hits"], 5000.0)
	require.Equal(t, 812.0, now["vuln_id"])
	require.Equal(t, false, now["running"])
	require.Equal(t, 60.0, state["list_delay"])

	c.post(path+"/state", `{"state":"falsepositive"}`)
	now = c.get("/sandbox/service/acme")["attacks"].([]any)[0].(map[string]any)
	require.Equal(t, "falsepositive", now["review"])
	require.Contains(t, c.refused(404, "/sandbox/attacks/none/stop", ``), "no attack")
	c.refused(400, path+"/grow", `{"factor":-1}`)
}

func TestEveryScenarioPlays(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	begins := map[string]int{
		"injection": 1, "slow_incident": 1, "moving_incident": 1, "credential_stuffing": 1, "scan": 1, "ipv6": 1, "own_cdn": 1, "own_cdn_denied": 1, "allowlisted": 1,
		"storm": 100, "storm_1000": 1000, "permission_lost": 1, "permission_back": 0, "service_away": 1,
	}
	for _, listed := range c.get("/sandbox/scenarios")["scenarios"].([]any) {
		name := listed.(map[string]any)["name"].(string)
		require.Contains(t, begins, name)
		require.NotEmpty(t, listed.(map[string]any)["look"])
		require.Len(t, c.post("/sandbox/scenarios/"+name, `{"account":"acme"}`)["attacks"], begins[name], name)
		delete(begins, name)
	}
	require.Empty(t, begins)
	for _, name := range []string{"storm", "own_cdn_denied", "permission_lost"} {
		c.post("/sandbox/scenarios/"+name, `{"account":"globex"}`)
	}
	require.Contains(t, c.refused(404, "/sandbox/scenarios/flood", `{}`), "no scenario")
	require.Contains(t, c.refused(400, "/sandbox/scenarios/scan", `{"account":"nobody"}`), "no such account")
	require.Contains(t, c.refused(400, "/sandbox/scenarios/slow_incident", `{"account":"globex"}`), "monitoring")
}

func TestCredentialStuffingComesFromManySources(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	attacks, err := c.w.Play("credential_stuffing", "acme")
	require.NoError(t, err)
	sources := attacks[0].Sources
	require.Len(t, sources, 4012)
	top := slices.MaxFunc(sources, func(a, b waf.SourceState) int { return cmp.Compare(a.Through, b.Through) })
	require.InDelta(t, 0.03, float64(top.Through)/float64(attacks[0].Hits), 0.002)
	for _, source := range sources {
		require.Positive(t, source.Through, "%s has not been seen", source.IP)
	}
	shown := c.get("/sandbox/service/acme")["attacks"].([]any)[0].(map[string]any)
	require.Len(t, shown["sources"], 50)
	require.Greater(t, shown["other_sources"].(map[string]any)["through"], 3_000.0, "the rest is summed up")
}

func TestOfManyAttacksTheMostUrgentAreShown(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	c.post("/sandbox/scenarios/storm_1000", `{}`)
	shown := c.get("/sandbox/service/acme?attacks=5")
	require.Equal(t, 995.0, shown["more_attacks"])
	odd := map[any]bool{}
	for _, attack := range shown["attacks"].([]any)[:4] {
		source := attack.(map[string]any)["sources"].([]any)[0].(map[string]any)
		odd[source["ip"]] = true
		require.Equal(t, "monitored", attack.(map[string]any)["block_status"])
	}
	require.Len(t, odd, 4, "those that aren't of the one source")
	require.Len(t, c.get("/sandbox/service/acme")["attacks"], 1000)

	require.Equal(t, 1000.0, c.post("/sandbox/attacks/stop", `{}`)["stopped"])
	require.Equal(t, false, c.get("/sandbox/service/acme?attacks=1")["attacks"].([]any)[0].(map[string]any)["running"])
	status, _ := c.send(c.request("GET", "/sandbox/service/acme?attacks=few", ""))
	require.Equal(t, 400, status)
	c.refused(400, "/sandbox/attacks/stop", `{"account":"nobody"}`)
}

func TestTheServiceTakesNoChangesUntilThePermissionIsBack(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	account := c.w.Accounts()[0]
	ask := func(path, body string) int {
		req := c.request("POST", "/service"+path, body)
		req.Header.Set("X-ServiceApi-Token", account.Token)
		status, _ := c.send(req)
		return status
	}
	deny := `{"clientid":5,"force":false,"ip_rule":{"list":"black","rule_type":"ip_range","subnet":"198.51.100.7/32","pools":[0],"expired_at":4102444800}}`
	for range 2 { // pressed twice, it is lost once
		c.post("/sandbox/scenarios/permission_lost", `{}`)
	}
	require.Equal(t, 403, ask("/v4/ip_rules", deny))
	require.Equal(t, 200, ask("/v1/user", `{}`), "it may look")
	c.post("/sandbox/faults/service", `{"kind":"slow","endpoint":"POST /v1/objects/vuln"}`)
	c.post("/sandbox/scenarios/permission_back", `{}`)
	require.Equal(t, 201, ask("/v4/ip_rules", deny))
	require.Len(t, c.get("/sandbox/faults")["set"].(map[string]any)["service"], 1, "the other fault stays")
}

func TestTheServiceIsAwayAndComesBack(t *testing.T) {
	t.Parallel()
	c := client{t, run(t, sandbox.Config{Quiet: true, Speed: 1000})}
	_, err := c.w.Play("service_away", "")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(c.w.WAF.Faults()) == 0 }, patience, 10*time.Millisecond)
}

func TestAnotherAuthorDeniedTheOwnCDN(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	for range 2 {
		c.post("/sandbox/scenarios/own_cdn_denied", `{}`)
		c.post("/sandbox/scenarios/allowlisted", `{}`)
	}
	entries := c.get("/sandbox/service/acme")["ip_rules"].([]any)
	require.Len(t, entries, 2, "each is listed once")
	require.Equal(t, "kim.park@acme.example", entries[0].(map[string]any)["author"])
	require.True(t, c.w.WAF.Denied("acme", "192.0.2.10"))
	require.False(t, c.w.WAF.Denied("acme", "203.0.113.66"), "the allowlist wins")
}

func TestAnotherAuthorListsAnAddress(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	c.post("/sandbox/service/acme/entries", `{"list":"black","rule_type":"ip_range","subnet":"198.51.100.7/32","pools":[0],"author":"trigger","event_type":"trigger","reason":"brute force","expired_at":4102444800}`)
	entry := c.get("/sandbox/service/acme")["ip_rules"].([]any)[0].(map[string]any)
	require.Equal(t, "trigger", entry["author"])
	require.True(t, c.w.WAF.Denied("acme", "198.51.100.7"))
	require.False(t, c.w.WAF.Denied("globex", "198.51.100.7"))
}

func TestTheServiceAnswersUnderItsPrefixAndItsRequestsAreSeen(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	accounts := c.w.Accounts()
	require.Len(t, accounts, 2)
	req := c.request("POST", "/service/v1/user", `{}`)
	req.Header.Set("X-ServiceApi-Token", accounts[1].Token)
	status, answer := c.send(req)
	require.Equal(t, 200, status)
	require.Equal(t, 9.0, answer["body"].(map[string]any)["client_id"])
	requests := c.get("/sandbox/service/globex/requests")["requests"].([]any)
	require.Equal(t, "/v1/user", requests[0].(map[string]any)["path"])
	status, _ = c.send(c.request("GET", "/sandbox/service/nobody", ""))
	require.Equal(t, 404, status)
}

func TestRequestsThatAWebsiteCouldMakeAreRefused(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	form := c.request("POST", "/sandbox/scenarios/scan", `{}`)
	form.Header.Set("Content-Type", "text/plain")
	status, answer := c.send(form)
	require.Equal(t, http.StatusUnsupportedMediaType, status)
	require.Contains(t, answer["error"], "application/json")

	for _, path := range []string{"/", "/sandbox/", "/service/v1/user", "/slack/api/auth.test"} {
		rebound := c.request("GET", path, "")
		rebound.Host = "evil.example:8370"
		status, answer = c.send(rebound)
		require.Equal(t, http.StatusForbidden, status, path)
		require.Contains(t, answer["error"], c.w.URL())
	}
	local := c.request("GET", "/sandbox/", "")
	local.Host = "localhost:8370"
	status, _ = c.send(local)
	require.Equal(t, 200, status)
}

func TestWrongCallsSayWhatToDo(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	require.Contains(t, c.refused(400, "/sandbox/attacks", `{"acount":"acme"}`), "acount")
	require.Contains(t, c.refused(400, "/sandbox/attacks", `{`), "JSON")
	require.Contains(t, c.refused(400, "/sandbox/attacks", `{}{}`), "more than one")
	require.Contains(t, c.refused(413, "/sandbox/slack/say", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`), "at most")
	require.Contains(t, c.refused(404, "/sandbox/nothing", `{}`), "GET /sandbox/")
	require.Contains(t, c.refused(405, "/sandbox/accounts", `{}`), "use GET")
	require.Contains(t, c.refused(400, "/sandbox/deliver", `{"url":"ftp://x"}`), "http://host:port")
}

func TestEventsNameTheSideThatChanged(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	stream, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(c.request("GET", "/sandbox/events", ""))
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	lines := bufio.NewScanner(stream.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	require.JSONEq(t, `{"slack":true,"service":true}`, next())
	c.post("/sandbox/slack/say", `{"user":"ann","channel":"#random","text":"hello"}`)
	require.JSONEq(t, `{"slack":true,"service":false}`, next())
	c.post("/sandbox/faults/service", `{"kind":"slow"}`)
	require.JSONEq(t, `{"slack":false,"service":true}`, next())
}

func TestThePageIsServedUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	c := quiet(t)
	for path, kind := range map[string]string{"/": "text/html", "/main.js": "text/javascript", "/base.css": "text/css", "/icon.svg": "image/svg+xml"} {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(c.request("GET", path, ""))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode, path)
		require.Contains(t, res.Header.Get("Content-Type"), kind)
		require.NotEmpty(t, body)
		policy := res.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
	}
}

// bot answers deliveries with a status and records what arrived.
func bot(t *testing.T, status int) (string, <-chan *http.Request) {
	t.Helper()
	arrived := make(chan *http.Request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		arrived <- req
		rw.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived
}
