package poller_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
	"github.com/wafbot/wafbot/poller/storm"
)

// record is an attack as the emulated service keeps it.
type attackRecord struct {
	id, typ, status, state string
	last                   time.Time
	hits, vuln, app        int
	client                 int // 0: 5
	unlisted               int // sources
	sources                []string
	undated                bool // the service leaves last_time out
	first                  time.Time
	begun                  time.Duration // ago, when it is put in; 0: an hour before its last hit
}

// json is the attack as the service lists it. Text in it needs no escape.
func (r attackRecord) json() string {
	orNull := func(is bool, value any) string {
		if is {
			return fmt.Sprint(value)
		}
		return "null"
	}
	var top []string
	for _, ip := range r.sources {
		top = append(top, fmt.Sprintf(`{"ip":%q,"count":%d,"country":"FR"}`, ip, r.hits))
	}
	return fmt.Sprintf(`{"attackid":%q,"clientid":%d,"domain":"shop.example.com","poolid":%d,"method":"POST",`+
		`"path":"/login","type":%q,"first_time":%d,"last_time":%s,"hits":%d,"ip_count":%d,"ip_top":[%s],`+
		`"block_status":%q,"vulnid":%s,"state":%s}`, r.id, cmp.Or(r.client, 5), r.app, r.typ, r.first.Unix(),
		orNull(!r.undated, r.last.Unix()), r.hits, len(r.sources)+r.unlisted, strings.Join(top, ","), r.status,
		orNull(r.vuln != 0, r.vuln), orNull(r.state != "", strconv.Quote(r.state)))
}

// request is what the service was asked.
type request struct {
	Path      string
	Offset    int
	Incidents bool
	From      int64
}

// service emulates one account: it filters, sorts by last hit, pages, and can fail. Its clock is its own.
type service struct {
	mu       sync.Mutex
	now      func() time.Time
	records  map[string]*attackRecord
	requests []request
	failing  func(q request) bool // answers 500
	swapped  bool                 // lists of attacks are another client's
	mixed    bool                 // they have a record of another client's behind them
	served   func(q request)      // called, unlocked, after an answer was made
	token    string
	entries  []map[string]any
	rules    []map[string]any
}

func newService(now func() time.Time) *service {
	return &service{now: now, records: map[string]*attackRecord{}, token: "s3cret"}
}

// add puts in an attack not blocked, with 100 hits of one source, last hit that long ago.
func (s *service) add(id string, ago time.Duration, change ...func(*attackRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &attackRecord{id: id, typ: "sqli", status: "monitored", last: s.now().Add(-ago), hits: 100, app: 4, sources: []string{"203.0.113.7"}}
	for _, c := range change {
		c(r)
	}
	if r.first = r.last.Add(-time.Hour); r.begun != 0 {
		r.first = s.now().Add(-r.begun)
	}
	s.records[id] = r
}

func (s *service) change(id string, change func(*attackRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.records[id])
}

// asked returns the requests to a path since the last time, with "" all of them.
func (s *service) asked(path string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := slices.DeleteFunc(slices.Clone(s.requests), func(q request) bool { return path != "" && q.Path != path })
	s.requests = slices.DeleteFunc(s.requests, func(q request) bool { return path == "" || q.Path == path })
	return asked
}

func (s *service) fail(failing func(request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = failing
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Offset, Limit int
		OrderBy       string `json:"order_by"`
		OrderDesc     bool   `json:"order_desc"`
		Filter        map[string]json.RawMessage
	}
	if data, _ := io.ReadAll(r.Body); len(data) > 0 {
		_ = json.Unmarshal(data, &body)
	} else {
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &body.Offset)
		body.Limit = 300
	}
	q := request{Path: r.URL.Path, Offset: body.Offset}
	_, q.Incidents = body.Filter["!vulnid"]
	var span [][]*int64
	if json.Unmarshal(body.Filter["time"], &span) == nil && len(span) == 1 {
		q.From = *span[0][0]
	}
	s.mu.Lock()
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.requests = append(s.requests, q)
	status, answer := s.answer(r, q, body.Limit, body.OrderBy == "last_time" && body.OrderDesc)
	served := s.served
	s.mu.Unlock()
	if served != nil {
		served(q)
	}
	w.WriteHeader(status)
	if page, ok := answer.([]string); ok {
		_, _ = fmt.Fprintf(w, `{"status":200,"body":[%s]}`, strings.Join(page, ","))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "body": answer})
}

func (s *service) answer(r *http.Request, q request, limit int, newestFirst bool) (int, any) {
	switch {
	case r.Header.Get("X-ServiceApi-Token") != s.token:
		return http.StatusForbidden, "User not authenticated"
	case s.failing != nil && s.failing(q):
		return http.StatusInternalServerError, "Timed out"
	}
	switch q.Path {
	case "/v1/objects/attack":
		list := s.listed(q, limit, newestFirst)
		if s.swapped {
			list = nil
		}
		if q.Offset == 0 && (s.swapped || s.mixed) {
			other := attackRecord{id: "y:1", client: 6, typ: "sqli", status: "monitored", last: s.now(), first: s.now(), hits: 9}
			list = append(list, other.json())
		}
		return http.StatusOK, list
	case "/v1/objects/hint":
		return http.StatusOK, cut(s.rules, q.Offset, limit)
	case "/v4/ip_rules":
		return http.StatusOK, map[string]any{"objects": cut(s.entries, q.Offset, limit)}
	}
	return http.StatusNotFound, "Not found"
}

// listed is a page of the attacks that a request asks for.
func (s *service) listed(q request, limit int, newestFirst bool) []string {
	var list []*attackRecord
	for _, r := range s.records {
		if r.last.Unix() >= q.From && (!q.Incidents || r.vuln != 0) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *attackRecord) int {
		if c := b.last.Compare(a.last); c != 0 && newestFirst {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	out := []string{}
	for _, r := range cut(list, q.Offset, limit) {
		out = append(out, r.json())
	}
	return out
}

func cut[T any](list []T, offset, limit int) []T {
	offset = min(offset, len(list))
	return append([]T{}, list[offset:min(offset+limit, len(list))]...)
}

// client talks to the service over loopback.
func (s *service) client(t testing.TB) *apiclient.Client {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := apiclient.New(apiclient.Config{BaseURL: server.URL, Token: "s3cret", ClientID: 5, Tries: 1, HTTP: server.Client()})
	require.NoError(t, err)
	return c
}

// inProcess talks to the service without a network, which a synctest bubble's clock would not wait for.
func (s *service) inProcess(t testing.TB) *apiclient.Client {
	c, err := apiclient.New(apiclient.Config{BaseURL: "http://service", Token: "s3cret", ClientID: 5, Tries: 1,
		HTTP: &http.Client{Transport: roundTripper{s}}})
	require.NoError(t, err)
	return c
}

type roundTripper struct{ h http.Handler }

func (rt roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	rt.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// account is a service with a poller's surroundings.
type account struct {
	*service
	name     string
	store    *fakeStore
	api      poller.API
	log      *slog.Logger
	muted    func(context.Context) (func(apiclient.Attack) bool, error) // nil: nothing is
	watch    *efficacy.Watch                                            // nil: nothing is judged
	observed func(context.Context, record.Poll)                         // nil: nothing is
	storm    storm.Config
	routes   []config.Route
	interval time.Duration
	limits   poller.Limits
}

func newAccount(t testing.TB) *account {
	clock := noon
	s := newService(func() time.Time { return clock })
	return &account{service: s, name: "acme", store: newStore(t), api: s.client(t), log: slog.New(slog.DiscardHandler)}
}

// inProcess is an account whose service is in the process: its clock can be that of a synctest bubble.
func inProcess(t testing.TB, clock func() time.Time) *account {
	s := newService(clock)
	return &account{service: s, name: "acme", store: newStore(t), api: s.inProcess(t), log: slog.New(slog.DiscardHandler)}
}

var noon = time.Now().Truncate(time.Second) // of the service; its distance to this machine's clock is for tests to set

// Muted implements poller.Preferences.
func (a *account) Muted(ctx context.Context, _ string) (func(apiclient.Attack) bool, error) {
	if a.muted == nil {
		return func(apiclient.Attack) bool { return false }, nil
	}
	return a.muted(ctx)
}

// judge is a poller.Judge.
func (a *account) judge(ctx context.Context, p record.Poll) (record.Judged, error) {
	if a.observed != nil {
		a.observed(ctx, p)
	}
	if a.watch == nil {
		return record.Judged{}, nil
	}
	return a.watch.Judge(ctx, p)
}

// nothingDone is an account of which wafbot has changed nothing.
type nothingDone struct{}

func (nothingDone) Changes(context.Context, string) ([]record.Change, error) { return nil, nil }
func (nothingDone) Efficacy(context.Context, string) (map[string]record.Efficacy, error) {
	return nil, nil
}

func (nothingDone) AccountContext(context.Context, string) (record.AccountContext, error) {
	return record.AccountContext{}, nil
}

// judges has what is in force be judged, as the bot does.
func (a *account) judges() {
	a.watch = efficacy.NewWatch(&config.Account{Name: a.name, OngoingFor: 15 * time.Minute}, nothingDone{}, 0)
}

// at sets the service's clock to some time after noon.
func (a *account) at(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = func() time.Time { return noon.Add(after) }
}

// Now implements poller.Clock.
func (a *account) Now() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().UTC()
}

// start is a poller as after a start of the process: it knows what the store holds.
func (a *account) start() *poller.Poller {
	account := accountOf(a.name, "C0")
	account.Storm, account.Routes, account.PollInterval = a.storm.Storm, a.routes, cmp.Or(a.interval, account.PollInterval)
	return poller.New(poller.Config{
		Account: account, API: a.api, Clock: a, Store: a.store, Notifier: a.store, Log: a.log, Preferences: a, Judge: a.judge,
		StormEnds: a.storm.EndsAfter, Limits: a.limits,
	})
}

// accountOf is an account with nothing but its defaults, in which no attacks are a storm.
func accountOf(name, channel string) *config.Account {
	account := config.Default[config.Account]()
	account.Name, account.Channel, account.Storm = name, channel, config.Storm{}
	return &account
}
