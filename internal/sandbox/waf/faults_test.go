package waf_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestFaultsThatAnswer(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		code int
		body string
	}{
		"status:500":      {500, `{"status":500,"body":"Timed out while waiting for the database"}`},
		"status:429":      {429, `{"status":429,"body":"Rate limiting"}`},
		"status:423":      {423, `{"status":423,"body":"Rules updates have been locked, try again later"}`},
		"status:403":      {403, `{"status":403,"body":"Check permissions failed"}`},
		"inner:500":       {200, `{"status":500,"body":"Timed out while waiting for the database"}`},
		"unauthenticated": {403, `{"status":403,"body":"User not authenticated"}`},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			require.NoError(t, w.SetFault(waf.Fault{Kind: kind, Times: 1}))
			code, text := w.request("POST", "/v1/user", `{}`)
			require.Equal(t, want.code, code)
			require.JSONEq(t, want.body, text)
			code, _ = w.request("POST", "/v1/user", `{}`)
			require.Equal(t, 200, code, "once only")
			require.Empty(t, w.Faults())
		})
	}
}

func TestFaultsByAccountAndEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.SetFault(waf.Fault{Kind: "status:500", Account: "globex"}))
	require.NoError(t, w.SetFault(waf.Fault{Kind: "status:500", Endpoint: "POST /v4/ip_rules"}))
	require.NoError(t, w.SetFault(waf.Fault{Kind: "status:500", Endpoint: "/v1/objects/hint", Times: 2}))
	require.Empty(t, w.objects(), "GET isn't concerned")
	code, _ := w.request("POST", "/v4/ip_rules", `{}`)
	require.Equal(t, 500, code)
	for _, want := range []int{500, 500, 200} {
		code, _ = w.request("POST", "/v1/objects/hint", `{"filter":{"clientid":[5]}}`)
		require.Equal(t, want, code)
	}
	w.ClearFaults()
	w.add("black", "203.0.113.7")
}

func TestAnswersForAnotherAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.SetFault(waf.Fault{Kind: "foreign", Account: "acme", Every: 2}))
	rule := `{"clientid":5,"type":"service_mode","mode":"off","validated":false,"action":[]}`
	for _, ask := range []func() string{
		func() string {
			_, text := w.request("POST", "/v1/objects/hint", `{"filter":{"clientid":[5]},"limit":9}`)
			return text
		},
		func() string {
			_, text := w.request("GET", "/v4/ip_rules?offset=0&limit=9&filter[clientid]=5", "")
			return text
		},
		func() string { _, text := w.request("POST", "/v1/objects/hint/create", rule); return text },
	} {
		require.NotContains(t, ask(), `"clientid":6`)
		require.NotRegexp(t, `"clientid":5|"status":[45]`, ask())
	}
}

func TestUnknownFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, f := range []waf.Fault{{}, {Kind: "status:200"}, {Kind: "slower"}, {Kind: "html", Account: "nobody"}, {Kind: "html", Times: -1}} {
		require.Error(t, w.SetFault(f))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	require.NoError(t, w.SetFault(waf.Fault{Kind: "status:429", RetryAfter: "7"}))
	answered, _, err := w.send(t.Context(), server, "/v1/user")
	require.NoError(t, err)
	require.Equal(t, "7", answered.Header.Get("Retry-After"))
	require.NotEmpty(t, answered.Header.Get("Date"))
}

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	for _, kind := range []string{"reset", "reset_applied", "cut"} {
		require.NoError(t, w.SetFault(waf.Fault{Kind: kind, Times: 1}))
		answered, text, err := w.send(t.Context(), server, "/v1/user")
		require.Error(t, err, kind)
		if kind == "cut" {
			require.Equal(t, 200, answered.StatusCode)
			require.NotEmpty(t, text)
		}
	}
	require.NoError(t, w.SetFault(waf.Fault{Kind: "html", Times: 1}))
	answered, text, err := w.send(t.Context(), server, "/v1/user")
	require.NoError(t, err)
	require.Equal(t, 502, answered.StatusCode)
	require.Contains(t, string(text), "<html>")
}

func TestHangEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	require.NoError(t, w.SetFault(waf.Fault{Kind: "hang", Times: 1}))
	taken := w.Watch()
	ctx, giveUp := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, _, err := w.send(ctx, server, "/v1/user")
		failed <- err
	}()
	<-taken
	giveUp()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Zero(t, w.Requests("acme")[0].Status)
}

func TestAppliedThough500(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.SetFault(waf.Fault{Kind: "500_applied", Times: 1}))
	code, _ := w.request("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false))
	require.Equal(t, 500, code)
	require.Len(t, w.objects(), 1)

	require.NoError(t, w.SetFault(waf.Fault{Kind: "reset", Times: 1}))
	require.Panics(t, func() { w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("DELETE", "/v4/ip_rules", nil)) })
	require.Len(t, w.objects(), 1)
}

func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, w.SetFault(waf.Fault{Kind: "slow", Times: 1}))
		asked := time.Now()
		code, _ := w.request("POST", "/v1/user", `{}`)
		require.Equal(t, 200, code)
		require.Equal(t, 3*time.Second, time.Since(asked))
	})
}

func TestEndlessListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.SetFault(waf.Fault{Kind: "endless"}))
	list := func(filter, offset string) (page []map[string]any) {
		code, text := w.request("POST", "/v1/objects/attack", `{"filter":{"clientid":[5]`+filter+`},"limit":100,"order_by":"last_time","order_desc":true,"offset":`+offset+`}`)
		require.Equal(t, 200, code)
		var answered struct{ Body []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(text), &answered))
		return answered.Body
	}
	require.Len(t, list("", "0"), 100)
	page := list("", "1000000")
	require.Len(t, page, 100)
	require.Equal(t, []any{"endless:1000000", "endless:1000099"}, []any{page[0]["attackid"], page[99]["attackid"]})
	require.Empty(t, list(`,"!vulnid":null`, "0"))
}
