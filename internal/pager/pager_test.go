package pager_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/pager"
)

const key = "R0123456789ABCDEF0123456789ABCDE"

var since = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// event is a call with all there is; what strangers wrote is as long as it comes.
func event() pager.Event {
	return pager.Event{
		ID: "0123456789abcdef", Since: since, Until: since.Add(time.Hour), Account: "acme", Attack: "ak7q2m9xw", Incident: true, Severity: "critical",
		Summary: "INCIDENT not blocked: SQL injection on Shop" + strings.Repeat("é", 2000), Source: "shop.example.com", App: "Shop", Type: "sqli",
		Console: "https://console.example.com", Details: map[string]string{"hits": "1,530"}, Links: []pager.Link{{Text: "Runbook", Href: "https://wiki.example.com/sqli"}},
	}
}

// receiver takes what is sent to it, and answers with what the test set, else as the format has it.
type receiver struct {
	*httptest.Server
	got    []map[string]any
	paths  []string
	status int
	answer string
	header http.Header
}

func receive(t *testing.T, check func(event map[string]any) error, good int) *receiver {
	r := &receiver{header: http.Header{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.paths = append(r.paths, req.Method+" "+req.URL.String())
		var event map[string]any
		err := json.NewDecoder(req.Body).Decode(&event)
		if err == nil {
			err = check(event)
		}
		for name, values := range r.header {
			w.Header()[name] = values
		}
		switch {
		case r.status != 0:
			w.WriteHeader(r.status)
			fmt.Fprint(w, r.answer)
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": "invalid event", "message": "Event object is invalid", "errors": []string{err.Error()}})
		default:
			r.got = append(r.got, event)
			w.WriteHeader(good)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// pagerDuty holds an event against what PagerDuty documents of its Events API v2.
func pagerDuty(e map[string]any) error {
	fields := []string{"routing_key", "event_action", "dedup_key", "payload", "images", "links", "client", "client_url"}
	for name := range e {
		if !slices.Contains(fields, name) {
			return fmt.Errorf("'%s' is unknown", name)
		}
	}
	if routing, _ := e["routing_key"].(string); len(routing) != 32 {
		return fmt.Errorf("'routing_key' is invalid: %v", e["routing_key"])
	}
	if dedup, _ := e["dedup_key"].(string); len(dedup) > 255 || dedup == "" {
		return fmt.Errorf("'dedup_key' is invalid")
	}
	if e["event_action"] == "resolve" {
		return nil
	}
	payload, _ := e["payload"].(map[string]any)
	for name := range payload {
		if !slices.Contains([]string{"summary", "source", "severity", "timestamp", "component", "group", "class", "custom_details"}, name) {
			return fmt.Errorf("'payload.%s' is unknown", name)
		}
	}
	summary, _ := payload["summary"].(string)
	source, _ := payload["source"].(string)
	at, _ := payload["timestamp"].(string)
	_, timeErr := time.Parse(time.RFC3339, at)
	switch {
	case e["event_action"] != "trigger":
		return fmt.Errorf("'event_action' is invalid")
	case summary == "" || len([]rune(summary)) > 1024:
		return fmt.Errorf("'payload.summary' is missing or too long")
	case source == "":
		return fmt.Errorf("'payload.source' is missing")
	case !slices.Contains([]any{"critical", "error", "warning", "info"}, payload["severity"]):
		return fmt.Errorf("'payload.severity' is invalid")
	case timeErr != nil:
		return timeErr
	}
	for _, link := range e["links"].([]any) {
		if href, _ := link.(map[string]any)["href"].(string); !strings.HasPrefix(href, "https://") {
			return fmt.Errorf("'links' is invalid")
		}
	}
	return nil
}

func anything(map[string]any) error { return nil }

func open(t *testing.T, format, address string) *pager.Pager {
	t.Helper()
	p, err := pager.New(pager.Config{Format: format, URL: apiclient.Secret(address)})
	require.NoError(t, err)
	return p
}

func TestPagerDuty(t *testing.T) {
	t.Parallel()
	r := receive(t, pagerDuty, http.StatusAccepted)
	p := open(t, pager.PagerDuty, r.URL+"/v2/enqueue?routing_key="+key)
	e := event()
	require.NoError(t, p.Send(t.Context(), e))
	e.Resolve = true
	require.NoError(t, p.Send(t.Context(), e))
	require.Equal(t, []string{"POST /v2/enqueue", "POST /v2/enqueue"}, r.paths, "the key is no part of the address")
	require.Equal(t, key, r.got[0]["routing_key"])
	payload := r.got[0]["payload"].(map[string]any)
	require.Equal(t, []any{"critical", "shop.example.com", "Shop", "acme", "sqli", "2026-11-21T03:00:00Z"},
		[]any{payload["severity"], payload["source"], payload["component"], payload["group"], payload["class"], payload["timestamp"]})
	require.Equal(t, map[string]any{"routing_key": key, "event_action": "resolve", "dedup_key": e.ID}, r.got[1])
	require.Zero(t, p.Lasts())
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	r := receive(t, anything, http.StatusNoContent)
	p := open(t, pager.JSON, r.URL+"/hook?token=secret")
	e := event()
	e.Summary = "somebody <!channel>"
	require.NoError(t, p.Send(t.Context(), e))
	e.Resolve, e.Links = true, nil
	require.NoError(t, p.Send(t.Context(), e))
	require.Equal(t, []string{"POST /hook?token=secret", "POST /hook?token=secret"}, r.paths)
	require.Equal(t, map[string]any{
		"event": "trigger", "id": e.ID, "account": "acme", "attack": "ak7q2m9xw", "kind": "incident", "severity": "critical", "since": "2026-11-21T03:00:00Z",
		"text": e.Summary, "source": "shop.example.com", "application": "Shop", "type": "sqli", "details": map[string]any{"hits": "1,530"},
		"links": []any{map[string]any{"text": "Runbook", "href": "https://wiki.example.com/sqli"}},
	}, r.got[0])
	require.Equal(t, "resolve", r.got[1]["event"])
	require.Equal(t, []any{}, r.got[1]["links"])
}

func TestWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format, answer, want string
		status               int
		after                string
		final                bool
		wait                 time.Duration
	}{
		{format: pager.PagerDuty, status: 400, answer: `{"message":"Event object is invalid","errors":["routing key ` + key + ` is unknown"]}`, final: true,
			want: "it refuses the call (400): Event object is invalid; routing key [redacted] is unknown"},
		{format: pager.PagerDuty, status: 200, answer: "<html>sign in</html>", want: "it answers with status 200"},
		{format: pager.PagerDuty, status: 429, after: "17", wait: 17 * time.Second, want: "it says there are too many requests (429)"},
		{format: pager.PagerDuty, status: 429, after: "999999", wait: 5 * time.Minute, want: "it says there are too many requests (429)"},
		{format: pager.JSON, status: 429, after: time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), want: "it says there are too many requests (429)"},
		{format: pager.JSON, status: 503, after: "soon", want: "it answers with status 503"},
		{format: pager.JSON, status: 400, answer: strings.Repeat("\xff<!channel> ", 1000), final: true, want: "it refuses the call (400): <!channel>"},
		{format: pager.Alertmanager, status: 202, want: "it answers with status 202"},
		{format: pager.JSON, status: 400, answer: "no hook at /hidden?routing_key=" + key, final: true, want: "it refuses the call (400): no hook at "},
		{format: pager.JSON, status: 400, answer: "the key " + key + " is not /hidden's", final: true, want: "it refuses the call (400): the key "},
		{format: pager.JSON, status: 404, want: "it answers with status 404"},
	} {
		r := receive(t, anything, 200)
		r.status, r.answer = tt.status, tt.answer
		if tt.after != "" {
			r.header.Set("Retry-After", tt.after)
		}
		address := r.URL + "/hidden?routing_key=" + key
		err := open(t, tt.format, address).Send(t.Context(), event())
		var f *pager.Failure
		require.ErrorAs(t, err, &f)
		require.True(t, strings.HasPrefix(f.Text, tt.want), f.Text)
		require.Equal(t, []any{tt.final, tt.wait}, []any{f.Final, f.RetryAfter}, tt.want)
		require.LessOrEqual(t, len([]rune(f.Text)), 250)
		require.NotContains(t, err.Error(), key)
		require.NotContains(t, err.Error(), "hidden")
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := receive(t, anything, 200)
	for _, status := range []int{301, 302, 307, 308} {
		r := receive(t, anything, 200)
		r.status = status
		r.header.Set("Location", elsewhere.URL)
		require.ErrorContains(t, open(t, pager.JSON, r.URL).Send(t.Context(), event()), "isn't followed")
	}
	require.Empty(t, elsewhere.paths)
}

func TestAPagerThatIsAwaySaysNothingOfItsAddress(t *testing.T) {
	t.Parallel()
	r := receive(t, anything, 200)
	p := open(t, pager.JSON, r.URL+"/hidden")
	r.Close()
	err := p.Send(t.Context(), event())
	require.ErrorContains(t, err, "it can't be reached")
	require.NotContains(t, err.Error(), "hidden")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Send(over, event()), context.Canceled)
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, address, want string }{
		{pager.PagerDuty, "https://events.pagerduty.com/v2/enqueue", "no routing key"}, {pager.JSON, "hidden", "no web address"},
		{pager.JSON, "ftp://hidden/", "no web address"}, {pager.JSON, "https://hidden\x7f/", "no web address"}, {"fax", "https://hidden/", "none of pagerduty"},
	} {
		_, err := pager.New(pager.Config{Format: tt.format, URL: apiclient.Secret(tt.address)})
		require.ErrorContains(t, err, tt.want)
		require.NotContains(t, err.Error(), "hidden")
	}
}
