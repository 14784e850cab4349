package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

const benchSecret = "bench-signing-secret"

// stage is a service and a workspace, both seen through: what is measured is the program that works between them.
type stage struct {
	waf     *waf.Service
	slack   *workspace.Workspace
	url     string
	binary  string    // wafbot; "": this test is
	environ []string  // of wafbot
	logs    io.Writer // takes what programs write; nil: nothing does
	listing *listing
	service http.Handler // answers in the service's place; a trouble comes before it
	posts   http.Handler // takes posts in the workspace's place; a trouble comes before it
	links   http.Handler // opens Socket Mode links in the workspace's place
	seen    *sightings

	requests, bytes atomic.Int64 // that the service was asked, and answered
}

// limits are what holds wafbot back, as it is configured.
type limits struct{ slack, storm string }

func unlimited() limits {
	return limits{"{messages_per_second: 0}", "{over: 100000}"}
}

func asIntended() limits {
	return limits{"{messages_per_second: 1}", "{over: 10, in: 1m}"}
}

func newStage(b testing.TB, limits limits) *stage {
	b.Helper()
	s := &stage{seen: newSightings()}
	s.waf = waf.New(waf.Config{Accounts: []waf.Account{{
		Name: "default", Token: "token", ClientID: 5, Applications: []waf.Application{{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"}},
	}}})
	s.listing = &listing{service: s.waf, polls: make(chan struct{}), seen: s.seen}
	s.service, s.posts = s.listing, http.HandlerFunc(s.post)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	s.url = server.URL
	users := []workspace.User{
		{ID: theClicker, Name: "rob", RealName: "Rob Diaz", TeamID: "T0SANDBOX"}, {ID: otherClicker, Name: "ann", RealName: "Ann Lee", TeamID: "T0SANDBOX"},
		{ID: theGuest, Name: "gus", TeamID: "T0SANDBOX", Restricted: true},
	}
	for _, id := range theStrangers() {
		users = append(users, workspace.User{ID: id, Name: "sam" + id, TeamID: "T0ELSEWHERE", Stranger: true})
	}
	var err error
	s.slack, err = workspace.New(workspace.Config{
		BaseURL: s.url + "/slack", SigningSecret: benchSecret, BotToken: "xoxb-bench", Users: users,
		Channels: []workspace.Channel{{ID: "C0WAF0001", Name: "waf", BotIsMember: true}},
	})
	require.NoError(b, err)
	s.links = s.slack
	mux.HandleFunc("/answer", s.answer)
	mux.Handle("/slack/", http.StripPrefix("/slack", http.HandlerFunc(s.serveSlack)))
	mux.Handle("/service/", http.StripPrefix("/service", http.HandlerFunc(s.serveService)))
	s.environ = []string{
		"WAFBOT_SLACK_BOT_TOKEN=xoxb-bench", "WAFBOT_SLACK_SIGNING_SECRET=" + benchSecret, "WAFBOT_SLACK_API_URL=" + s.url + "/slack/api/",
		"WAFBOT_REDIS_URL=" + benchRedis(b), "WAFBOT_CHANGES=on", "WAFBOT_NEVER_DENY=", "WAFBOT_RESPONDERS=*",
		"WAFBOT_CONFIG=" + writeConfig(b, fmt.Sprintf(`
slack: %s
accounts:
  - {name: default, api_url: "%s/service", token: token, client_id: 5, channel: C0WAF0001, poll_interval: 250ms, storm: %s, applications: {4: Shop}}
`, limits.slack, s.url, limits.storm)),
	}
	return s
}

// benchRedis is the address of a real redis-server that keeps nothing, where there is one, else of the emulated one; then it says so.
func benchRedis(b testing.TB) string {
	b.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Log("there is no redis-server: with miniredis")
		return miniRedis(b).url
	}
	return redistest.Start(b).URL()
}

var (
	shownPath = regexp.MustCompile(`/shown/\d+`)
	clickedIP = regexp.MustCompile(`45\.0\.\d+\.\d+`)
)

// serveService notes each change that arrives at the service, and what answers cost.
func (s *stage) serveService(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	if r.Method == http.MethodPost && r.URL.Path == "/v4/ip_rules" {
		s.seen.add("called", clickedIP.FindString(string(readBody(r))), at)
	}
	counted := &countingWriter{ResponseWriter: w}
	s.service.ServeHTTP(counted, r)
	s.requests.Add(1)
	s.bytes.Add(counted.written)
}

// serveSlack notes each redrawn card. Posts go their own way.
func (s *stage) serveSlack(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	switch r.URL.Path {
	case "/api/chat.postMessage":
		s.posts.ServeHTTP(w, r)
		return
	case "/api/apps.connections.open":
		s.links.ServeHTTP(w, r)
		return
	case "/api/chat.update":
		s.seen.add("drawn", "", at)
	}
	s.slack.ServeHTTP(w, r)
}

// post gives a post to the workspace, and notes when one arrived that it takes: about an attack, or in a thread about a click.
func (s *stage) post(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	form, _ := url.ParseQuery(string(readBody(r)))
	answer := httptest.NewRecorder()
	s.slack.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	text := form.Get("text") + form.Get("blocks")
	path, source := shownPath.FindString(text), clickedIP.FindString(text)
	switch taken := bytes.Contains(answer.Body.Bytes(), []byte(`"ok":true`)); {
	case taken && form.Get("thread_ts") == "" && path != "":
		s.seen.add("posted", path, at)
	case taken && form.Get("thread_ts") != "" && source != "":
		s.seen.add("replied", source, at)
	}
}

// answer takes the answers to clicks.
func (s *stage) answer(_ http.ResponseWriter, r *http.Request) {
	at, text := time.Now(), string(readBody(r))
	if strings.Contains(text, "accepted by the service") {
		s.seen.add("answered", clickedIP.FindString(text), at)
	}
}

// readBody reads a request's body and puts it back.
func readBody(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// countingWriter counts an answer's bytes.
type countingWriter struct {
	http.ResponseWriter
	written int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	c.written += int64(len(p))
	return c.ResponseWriter.Write(p)
}

// sightings are when something was seen: an attack, by its path, "listed" and "posted"; a click, by its source, "called",
// "answered" and "replied" to; a card "drawn".
type sightings struct {
	mu    sync.Mutex
	at    map[string]map[string][]time.Time // by what happened and to what
	fresh chan struct{}                     // closed when there is another one
}

func newSightings() *sightings {
	return &sightings{at: map[string]map[string][]time.Time{}, fresh: make(chan struct{})}
}

func (s *sightings) add(what, of string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at[what] == nil {
		s.at[what] = map[string][]time.Time{}
	}
	s.at[what][of] = append(s.at[what][of], at)
	close(s.fresh)
	s.fresh = make(chan struct{})
}

// first is when it first happened to each, and how often it happened more than once.
func (s *sightings) first(what string) (at map[string]time.Time, twice int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = map[string]time.Time{}
	for of, times := range s.at[what] {
		at[of] = times[0]
		twice += len(times) - 1
	}
	return at, twice
}

// patienceOfBench is how long a benchmark waits for what may never come.
const patienceOfBench = 2 * time.Minute

// until waits until it happened to so many, and reports whether it did.
func (s *sightings) until(what string, count int) bool {
	for late := time.After(patienceOfBench); ; {
		s.mu.Lock()
		there, fresh := len(s.at[what]), s.fresh
		s.mu.Unlock()
		if there >= count {
			return true
		}
		select {
		case <-fresh:
		case <-late:
			return false
		}
	}
}

// await is when it first happened to that one.
func (s *sightings) await(b *testing.B, what, of string) time.Time {
	b.Helper()
	return s.awaitAfter(b, what, of, time.Time{})
}

// awaitAfter is when it first happened to that one after a time.
func (s *sightings) awaitAfter(b *testing.B, what, of string, after time.Time) time.Time {
	b.Helper()
	for late := time.After(patienceOfBench); ; {
		s.mu.Lock()
		times, fresh := s.at[what][of], s.fresh
		s.mu.Unlock()
		if i := slices.IndexFunc(times, func(at time.Time) bool { return at.After(after) }); i >= 0 {
			return times[i]
		}
		select {
		case <-fresh:
		case <-late:
			require.Fail(b, "never "+what, of)
		}
	}
}
