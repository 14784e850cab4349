package apiclient_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

const goodToken = "tok-3f9a8c7e"

// sent is one request as the service got it.
type sent struct {
	Line  string // method and request URI
	Body  string
	Token string
}

// service is one account of the service, kept in memory.
type service struct {
	t *testing.T

	mu     sync.Mutex
	token  string
	cut    int                                               // the service's own limit of a page; 0: none
	fault  func(w http.ResponseWriter, r *http.Request) bool // answers instead of the service when it returns true
	sent   []sent
	lists  map[string][]any // by path
	nextID int64
}

func newService(t *testing.T) *service {
	return &service{t: t, token: goodToken, lists: map[string][]any{}, nextID: 100}
}

// start serves it over TCP and returns a client for account 5 whose pauses are short.
func (s *service) start(change ...func(*apiclient.Config)) *apiclient.Client {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	cfg := apiclient.Config{BaseURL: server.URL, Token: goodToken, ClientID: 5, HTTP: server.Client(), Pause: time.Microsecond}
	for _, f := range change {
		f(&cfg)
	}
	if cfg.TokenFile != "" {
		cfg.Token = ""
	}
	c, err := apiclient.New(cfg)
	require.NoError(s.t, err)
	return c
}

func (s *service) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.sent = append(s.sent, sent{r.Method + " " + r.URL.RequestURI(), string(body), r.Header.Get("X-ServiceApi-Token")})
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("X-ServiceApi-Token") != s.token {
		answer(w, 403, "User not authenticated")
		return
	}
	var q map[string]any
	if len(body) > 0 && json.Unmarshal(body, &q) != nil {
		answer(w, 400, "Bad JSON")
		return
	}
	s.route(w, r, q)
}

func (s *service) route(w http.ResponseWriter, r *http.Request, q map[string]any) {
	switch line := r.Method + " " + r.URL.Path; line {
	case "POST /v1/user":
		answer(w, 200, map[string]any{"id": 9, "client_id": 5, "client_name": "Acme"})
	case "POST /v1/objects/attack", "POST /v1/objects/vuln", "POST /v1/objects/hint", "POST /v1/objects/action":
		answer(w, 200, s.page(s.lists[r.URL.Path], int(q["offset"].(float64)), int(q["limit"].(float64))))
	case "POST /v1/client/5/attack-vectors/security-agg/query":
		_ = json.NewEncoder(w).Encode(map[string]any{"data": s.lists[r.URL.Path], "next_cursor": nil})
	case "POST /v1/objects/hint/create":
		s.nextID++
		delete(q, "clientid")
		q["id"], q["actionid"], q["point"] = s.nextID, 7, slices.Concat(pairs(q["point"])...)
		s.lists["/v1/objects/hint"] = append(s.lists["/v1/objects/hint"], q)
		answer(w, 200, q)
	case "POST /v1/objects/hint/delete":
		id := q["filter"].(map[string]any)["id"]
		rules := s.lists["/v1/objects/hint"]
		left := slices.DeleteFunc(slices.Clone(rules), func(r any) bool { return same(r.(map[string]any)["id"], id) })
		deleted := slices.DeleteFunc(slices.Clone(rules), func(r any) bool { return !same(r.(map[string]any)["id"], id) })
		s.lists["/v1/objects/hint"] = left
		answer(w, 200, deleted)
	case "GET /v4/ip_rules":
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		answer(w, 200, map[string]any{"objects": s.page(s.lists[r.URL.Path], offset, limit)})
	case "POST /v4/ip_rules":
		s.nextID++
		rule := q["ip_rule"].(map[string]any)
		rule["id"], rule["author"] = s.nextID, "client"
		s.lists[r.URL.Path] = append(s.lists[r.URL.Path], rule)
		w.WriteHeader(201)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": 200, "body": rule})
	case "DELETE /v4/ip_rules":
		ids := q["filter"].(map[string]any)["id"].([]any)
		s.lists[r.URL.Path] = slices.DeleteFunc(s.lists[r.URL.Path], func(r any) bool {
			return slices.ContainsFunc(ids, func(id any) bool { return same(r.(map[string]any)["id"], id) })
		})
		answer(w, 200, map[string]any{})
	default:
		answer(w, 404, "Not found: "+line)
	}
}

// page gives at most 300 entries, or as many as the service is set to.
func (s *service) page(list []any, offset, limit int) []any {
	if s.cut > 0 {
		limit = min(limit, s.cut)
	}
	from := min(offset, len(list))
	return append([]any{}, list[from:min(from+limit, len(list))]...)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "body": body})
}

func pairs(point any) [][]any {
	var out [][]any
	groups, _ := point.([]any)
	for _, g := range groups {
		out = append(out, g.([]any))
	}
	return out
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// body is a fault that answers with a status and a text.
func body(status int, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

// reset breaks the connection after the request has arrived.
func reset(w http.ResponseWriter, _ *http.Request) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	return true
}

// times lets a fault happen at the first n requests.
func times(n int, fault func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		n--
		due := n >= 0
		mu.Unlock()
		return due && fault(w, r)
	}
}

func objects(t *testing.T, text string) []any {
	var list []any
	require.NoError(t, json.NewDecoder(strings.NewReader(text)).Decode(&list))
	return list
}
