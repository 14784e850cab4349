package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// stage is a service and a workspace, both seen through: what is measured is the bot.
type stage struct {
	waf     *waf.Service
	slack   *workspace.Workspace
	url     string
	bot     string // its address
	environ []string
	answers chan struct{} // a click was answered
	polls   chan struct{} // the service was asked for attacks
	rough   http.Handler  // answers posts in the workspace's place; nil: the workspace does

	mu    sync.Mutex
	seen  map[string]time.Time // when an attack was first seen at "slack PATH" or "service PATH"
	fresh chan struct{}        // closed when another one was
}

// limits are what holds the bot back, as it is configured.
type limits struct{ slack, storm string }

func unlimited() limits { return limits{"{messages_per_second: 0}", "{over: 100000}"} }

func asIntended() limits {
	return limits{"{messages_per_second: 1, burst: 4, edits_per_minute: 40}", "{over: 10, in: 1m, ends_after: 10m}"}
}

func newStage(b *testing.B, limits limits) *stage {
	b.Helper()
	s := &stage{answers: make(chan struct{}, 64), polls: make(chan struct{}), seen: map[string]time.Time{}, fresh: make(chan struct{})}
	s.waf = waf.New(waf.Config{Accounts: []waf.Account{{
		Name: "default", Token: "token", ClientID: 5, Applications: []waf.Application{{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"}},
	}}})
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	s.url = server.URL
	var err error
	s.slack, err = workspace.New(workspace.Config{
		BaseURL: s.url + "/slack", SigningSecret: benchSecret, BotToken: "xoxb-bench",
		Users:    []workspace.User{{ID: "U0ROB0002", Name: "rob", RealName: "Rob Diaz", TeamID: "T0SANDBOX"}},
		Channels: []workspace.Channel{{ID: "C0WAF0001", Name: "waf", BotIsMember: true}},
	})
	require.NoError(b, err)
	mux.HandleFunc("/bare", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/answer", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.answers <- struct{}{}
	})
	mux.Handle("/slack/", http.StripPrefix("/slack", s.watchSlack()))
	mux.Handle("/service/", http.StripPrefix("/service", s.watchService()))
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

const benchSecret = "bench-signing-secret"

// watchSlack notes when a new attack's card arrives, before the workspace looks at it.
func (s *stage) watchSlack() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		s.seeClick(r)
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if r.URL.Path == "/api/chat.postMessage" {
			form, _ := url.ParseQuery(string(body))
			s.see("slack", form.Get("blocks"), at)
			if s.rough != nil {
				s.rough.ServeHTTP(w, r)
				return
			}
		}
		s.slack.ServeHTTP(w, r)
	})
}

// watchService notes when an answer with a new attack leaves.
func (s *stage) watchService() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seeClick(r)
		answer := httptest.NewRecorder()
		s.waf.ServeHTTP(answer, r)
		text := answer.Body.String()
		if r.URL.Path == "/v1/objects/attack" {
			s.see("service", text, time.Now())
			select {
			case s.polls <- struct{}{}:
			default: // not counted
			}
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, text)
	})
}

// see notes the attacks on /notified/N, and the sources 45.0.N.M, that a text holds.
func (s *stage) see(where, text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range seenIn.FindAllString(text, -1) {
		if _, known := s.seen[where+" "+path]; !known {
			s.seen[where+" "+path] = at
		}
	}
	close(s.fresh)
	s.fresh = make(chan struct{})
}

var seenIn = regexp.MustCompile(`/notified/\d+|45\.0\.\d+\.\d+`)

// await is when the attack was first seen there.
func (s *stage) await(b *testing.B, key string) time.Time {
	b.Helper()
	for {
		s.mu.Lock()
		at, ok := s.seen[key]
		fresh := s.fresh
		s.mu.Unlock()
		if ok {
			return at
		}
		select {
		case <-fresh:
		case <-time.After(10 * time.Second):
			b.Fatalf("%s was not seen", key)
		}
	}
}

// serve runs the bot in this process until the benchmark ends.
func (s *stage) serve(b *testing.B) {
	b.Helper()
	cfg, err := config.Load("", s.environ)
	require.NoError(b, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	s.bot = "http://" + l.Addr().String()
	s.slack.DeliverTo(s.bot)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- serve(ctx, cfg, l, botOptions{log: slog.New(slog.DiscardHandler), audit: io.Discard}) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-done)
	})
}

// click makes clicks on Deny as Slack sends them, each signed and of another source, whose answers come to the stage.
func (s *stage) click(b *testing.B) func(n int) (body string, header http.Header) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	_, err := s.waf.StartAttack(waf.AttackSpec{Path: "/clicked", Hits: 100, Started: waf.Duration(time.Minute)})
	require.NoError(b, err)
	card, err := s.slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool { return strings.Contains(m.Plain(), "/clicked") })
	require.NoError(b, err)
	i := slices.IndexFunc(card.Buttons(), func(button blockkit.Button) bool { return strings.HasPrefix(button.Value, "deny ") })
	require.GreaterOrEqual(b, i, 0, "%+v", card.Buttons())
	first, err := s.slack.Click(ctx, workspace.Click{User: "rob", Channel: "waf", TS: card.TS, Button: card.Buttons()[i].Value})
	require.NoError(b, err)
	form, err := url.ParseQuery(first.EnvelopeBody)
	require.NoError(b, err)
	var payload map[string]any
	require.NoError(b, json.Unmarshal([]byte(form.Get("payload")), &payload))
	payload["response_url"] = s.url + "/answer"
	action := payload["actions"].([]any)[0].(map[string]any)
	line := strings.Fields(action["value"].(string))
	return func(n int) (string, http.Header) {
		line[1] = source(n)
		payload["trigger_id"], action["value"] = strconv.Itoa(n), strings.Join(line, " ")
		text, err := json.Marshal(payload)
		require.NoError(b, err)
		body := url.Values{"payload": {string(text)}}.Encode()
		now := strconv.FormatInt(time.Now().Unix(), 10)
		mac := hmac.New(sha256.New, []byte(benchSecret))
		fmt.Fprintf(mac, "v0:%s:%s", now, body)
		return body, http.Header{
			"Content-Type": {"application/x-www-form-urlencoded"}, "X-Slack-Request-Timestamp": {now}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))},
		}
	}
}

// post is how long a request takes until its answer is read.
func post(b *testing.B, address, body string, header http.Header) time.Duration {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(b, err)
	req.Header = header
	begun := time.Now()
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, res.Body)
	took := time.Since(begun)
	require.NoError(b, err)
	res.Body.Close()
	require.Equal(b, http.StatusOK, res.StatusCode)
	return took
}

// benchRedis is the address of a real redis-server that keeps nothing, where there is one, else of the emulated one; then it says so.
func benchRedis(b *testing.B) string {
	b.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		b.Log("there is no redis-server: with miniredis")
		return miniRedis(b).url
	}
	return redistest.Start(b).URL()
}
