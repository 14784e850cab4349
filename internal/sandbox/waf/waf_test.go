package waf_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// world is the service on a clock that the test moves.
type world struct {
	t *testing.T
	*waf.Service
	mu   sync.Mutex
	time time.Time
}

// newWorld is a service whose listings show a write at once.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newLaggingWorld(t, -1)
}

func newLaggingWorld(t *testing.T, lag time.Duration) *world {
	t.Helper()
	w := &world{t: t, time: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
	w.Service = waf.New(waf.Config{
		Seed: 1,
		Lag:  lag,
		Now:  w.now,
		Accounts: []waf.Account{
			{Name: "acme", Token: "acme-token", ClientID: 5, Applications: []waf.Application{
				{ID: 4, Name: "Shop", Host: "shop.example.com"}, {ID: 7, Name: "Legacy", Host: "old.example.com", Mode: "off"},
			}},
			{Name: "globex", Token: "globex-token", ClientID: 6},
		},
	})
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

// pass moves the clock and plays what happens meanwhile.
func (w *world) pass(d time.Duration) {
	w.advance(d)
	w.Step()
}

// advance moves the clock alone.
func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

func (w *world) request(method, path, body string) (int, string) {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-ServiceApi-Token", "acme-token")
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	answered := httptest.NewRecorder()
	w.ServeHTTP(answered, r)
	return answered.Code, answered.Body.String()
}

// body sends a request that must succeed and decodes what is in its envelope.
func (w *world) body(method, path, body string) any {
	w.t.Helper()
	code, text := w.request(method, path, body)
	require.Less(w.t, code, 300, text)
	var envelope struct {
		Status int
		Body   any
	}
	require.NoError(w.t, json.Unmarshal([]byte(text), &envelope))
	require.Equal(w.t, 200, envelope.Status)
	return envelope.Body
}

// list is body for an answer that is an array of objects.
func (w *world) list(path, body string) []map[string]any {
	w.t.Helper()
	items := []map[string]any{}
	for _, item := range w.body("POST", path, body).([]any) {
		items = append(items, item.(map[string]any))
	}
	return items
}

func (w *world) start(spec waf.AttackSpec) waf.Attack {
	w.t.Helper()
	attack, err := w.StartAttack(spec)
	require.NoError(w.t, err)
	return attack
}

// state returns acme's state.
func (w *world) state() waf.State {
	w.t.Helper()
	state, err := w.State("acme")
	require.NoError(w.t, err)
	return state
}

func TestUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user := w.body("POST", "/v1/user", `{}`).(map[string]any)
	require.EqualValues(t, 5, user["client_id"])
	require.Equal(t, "acme", user["client_name"])
	require.Equal(t, true, user["enabled"])
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, path, body string
		code                     int
		answer                   string
	}{
		{"unknown path", "POST", "/v1/objects/nothing", `{}`, 404, `{"status":404,"body":"Not found"}`},
		{"unknown method", "PUT", "/v4/ip_rules", `{}`, 404, `{"status":404,"body":"Not found"}`},
		{"broken JSON", "POST", "/v1/user", `{`, 400, `{"status":400,"body":"Invalid JSON"}`},
		{"text behind", "POST", "/v1/user", `{} {}`, 400, `{"status":400,"body":"Invalid JSON"}`},
		{"no filter", "POST", "/v1/objects/action", `{}`, 400, `{"status":400,"body":{
			"filter":{"error":"can't be blank","value":null},"clientid":{"error":"can't be blank","value":null}}}`},
		{"client id not an array", "POST", "/v1/objects/attack", `{"filter":{"clientid":5}}`, 400,
			`{"status":400,"body":{"clientid":{"error":"is invalid","value":5}}}`},
		{"other account", "POST", "/v1/objects/attack", `{"filter":{"clientid":[5,6]}}`, 403,
			`{"status":403,"body":"Check permissions failed"}`},
		{"other account's aggregation", "POST", "/v1/client/6/attack-vectors/security-agg/query",
			`{"preset":"none","select":[],"time_range":"-24h"}`, 403, `{"status":403,"body":"Check permissions failed"}`},
		{"other account's lists", "GET", "/v4/ip_rules?filter[clientid]=6", ``, 403, `{"status":403,"body":"Check permissions failed"}`},
		{"misspelt filter", "POST", "/v1/objects/attack", `{"filter":{"clientid":[5],"vuln":null}}`, 400,
			`{"status":400,"body":{"vuln":{"error":"is not allowed","value":null}}}`},
		{"unknown order", "POST", "/v1/objects/attack", `{"filter":{"clientid":[5]},"order_by":"age"}`, 400,
			`{"status":400,"body":{"order_by":{"error":"is not included in the list","value":"age"}}}`},
		{"negative offset", "POST", "/v1/objects/vuln", `{"filter":{"clientid":[5]},"offset":-1,"limit":0}`, 400,
			`{"status":400,"body":{"offset":{"error":"must be greater than or equal to 0","value":-1},
				"limit":{"error":"must be greater than 0","value":0}}}`},
		{"time not in pairs", "POST", "/v1/objects/vuln", `{"filter":{"clientid":[5],"time":[1,2]}}`, 400,
			`{"status":400,"body":{"time":{"error":"is invalid","value":[1,2]}}}`},
		{"vulnid not null", "POST", "/v1/objects/attack", `{"filter":{"clientid":[5],"!vulnid":1}}`, 400,
			`{"status":400,"body":{"!vulnid":{"error":"is invalid","value":1}}}`},
		{"other account's rules", "POST", "/v1/objects/hint", `{"filter":{"clientid":[6]}}`, 403, `{"status":403,"body":"Check permissions failed"}`},
		{"rule for another account", "POST", "/v1/objects/hint/create",
			`{"clientid":6,"type":"service_mode","mode":"block","validated":false,"action":[]}`, 403, `{"status":403,"body":"Check permissions failed"}`},
		{"delete another account's rules", "POST", "/v1/objects/hint/delete", `{"filter":{"clientid":[6]}}`, 403,
			`{"status":403,"body":"Check permissions failed"}`},
		{"delete another account's entries", "DELETE", "/v4/ip_rules", `{"filter":{"clientid":6}}`, 403,
			`{"status":403,"body":"Check permissions failed"}`},
		{"delete one id", "DELETE", "/v4/ip_rules", `{"filter":{"clientid":5,"id":101}}`, 400,
			`{"status":400,"body":{"id":{"error":"is invalid","value":101}}}`},
		{"lists of nobody", "GET", "/v4/ip_rules", ``, 400, `{"status":400,"body":{"clientid":{"error":"can't be blank","value":null}}}`},
		{"unknown list", "GET", "/v4/ip_rules?filter[clientid]=5&filter[list]=red&limit=x&list=black", ``, 400, `{"status":400,"body":{
			"filter[list]":{"error":"is not included in the list","value":"red"},
			"limit":{"error":"is invalid","value":"x"},"list":{"error":"is not allowed","value":"black"}}}`},
		{"time range in days", "POST", "/v1/client/5/attack-vectors/security-agg/query",
			`{"preset":"none","select":["age"],"time_range":"-1d"}`, 400, `{"status":400,"body":{
			"select":{"error":"is not included in the list","value":["age"]},"time_range":{"error":"is invalid","value":"-1d"}}}`},
		{"aggregation page too long", "POST", "/v1/client/5/attack-vectors/security-agg/query",
			`{"preset":"none","select":[],"time_range":"-24h","limit":101}`, 400,
			`{"status":400,"body":{"limit":{"error":"must be less than or equal to 100","value":101}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, answer := newWorld(t).request(c.method, c.path, c.body)
			require.Equal(t, c.code, code)
			require.JSONEq(t, c.answer, answer)
		})
	}
}

func TestBodyMustBeJSONOfReasonableSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := httptest.NewRequest("POST", "/v1/user", strings.NewReader(`{}`))
	r.Header.Set("X-ServiceApi-Token", "acme-token")
	answered := httptest.NewRecorder()
	w.ServeHTTP(answered, r)
	require.Equal(t, 415, answered.Code, "no content type")
	code, _ := w.request("POST", "/v1/user", strings.Repeat(" ", 1<<20)+`{}`)
	require.Equal(t, 413, code)
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, token := range []string{"", "wrong", "acme-toke"} {
		r := httptest.NewRequest("POST", "/v1/user", strings.NewReader(`{}`))
		if token != "" {
			r.Header.Set("X-ServiceApi-Token", token)
		}
		answered := httptest.NewRecorder()
		w.ServeHTTP(answered, r)
		require.Equal(t, 403, answered.Code)
		require.JSONEq(t, `{"status":403,"body":"User not authenticated"}`, answered.Body.String())
	}
	require.Empty(t, w.Requests("acme"))
	require.Len(t, w.Requests(""), 3)
}

func TestRequestsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.request("POST", "/v1/user", `{}`)
	w.request("POST", "/v1/user", `{"a":1}`)
	kept := w.Requests("acme")
	require.Len(t, kept, 2)
	require.Equal(t, []int{200, 400}, []int{kept[0].Status, kept[1].Status})
	require.Equal(t, `{"a":1}`, kept[1].Body)
	require.Equal(t, map[string]int{"POST /v1/user": 2}, w.state().Requests)
	for range 1100 {
		w.request("GET", "/", "")
	}
	require.Len(t, w.Requests(""), 1000)
}

func TestRunPlaysInRealTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := waf.New(waf.Config{Accounts: []waf.Account{{Name: "a", Applications: []waf.Application{{ID: 1, Host: "h"}}}}})
		attack, err := s.StartAttack(waf.AttackSpec{})
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), 10100*time.Millisecond)
		defer stop()
		changed := s.Watch()
		require.ErrorIs(t, s.Run(ctx), context.DeadlineExceeded)
		<-changed
		state, err := s.State("a")
		require.NoError(t, err)
		require.EqualValues(t, attack.Hits+20, state.Attacks[0].Hits) // 2 a second
	})
}

// serve is the service behind a real listener.
func (w *world) serve() *httptest.Server {
	server := httptest.NewServer(w)
	w.t.Cleanup(server.Close)
	return server
}

func (w *world) send(ctx context.Context, server *httptest.Server, path string) (*http.Response, []byte, error) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+path, strings.NewReader(`{}`))
	require.NoError(w.t, err)
	r.Header.Set("X-ServiceApi-Token", "acme-token")
	r.Header.Set("Content-Type", "Application/JSON; charset=utf-8")
	answered, err := server.Client().Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(answered.Body)
	return answered, text, err
}
