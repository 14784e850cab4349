package bot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/text"
)

// unread is a body that counts what is read of it.
type unread struct{ n int }

func (u *unread) Read(p []byte) (int, error) {
	u.n += len(p)
	return len(p), nil
}

// What doesn't look like Slack's is refused before a byte of its body is read, and what says that it is too long, too.
func TestNothingIsReadBeforeTheHeadersAreGood(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
	now, late := strconv.FormatInt(time.Now().Unix(), 10), strconv.FormatInt(time.Now().Add(-6*time.Minute).Unix(), 10)
	signature := sign(signingSecret, now, "")
	for name, c := range map[string]struct {
		stamp, signature string
		length           int64
		status           int
	}{
		"no headers":       {"", "", -1, http.StatusUnauthorized},
		"no signature":     {now, "", -1, http.StatusUnauthorized},
		"no time":          {"", signature, -1, http.StatusUnauthorized},
		"no number":        {"now", signature, -1, http.StatusUnauthorized},
		"an old one":       {late, sign(signingSecret, late, ""), -1, http.StatusUnauthorized},
		"no hexadecimals":  {now, "v0=" + strings.Repeat("x", 64), -1, http.StatusUnauthorized},
		"a short one":      {now, signature[:60], -1, http.StatusUnauthorized},
		"of another shape": {now, "v1" + signature[2:], -1, http.StatusUnauthorized},
		"a long body":      {now, signature, 1<<20 + 1, http.StatusRequestEntityTooLarge},
	} {
		for _, path := range []string{"/slack/commands", "/slack/interactions", "/slack/events"} {
			body := &unread{}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
			r.ContentLength = c.length
			r.Header.Set("X-Slack-Request-Timestamp", c.stamp)
			r.Header.Set(headerSignature, c.signature)
			w := httptest.NewRecorder()
			b.handler().ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code, name)
			require.Zero(t, body.n, name)
		}
	}
}

// served is the address of a bot that receives over HTTP.
func served(t *testing.T, b *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return l.Addr().String()
}

func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// stalling is a body of 1 MiB whose last byte comes late.
type stalling struct {
	left    int
	stalled chan<- bool     // told when all but the last byte was read
	last    <-chan struct{} // closed when it comes
}

func (s *stalling) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if s.left == 1 {
		s.stalled <- true
		<-s.last
	}
	n := min(len(p), max(s.left-1, 1))
	s.left -= n
	return n, nil
}

// Bodies with forged signatures hold 32 MiB at most, beside the first 16 kB of each: more are refused. What Slack
// usually sends gets through meanwhile.
func TestForgedBodiesHoldABoundedRoom(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
	now := strconv.FormatInt(time.Now().Unix(), 10)
	const forged = 48
	stalled, last, status := make(chan bool), make(chan struct{}), make(chan int)
	for range forged {
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/slack/events", &stalling{1 << 20, stalled, last})
			r.Header.Set("X-Slack-Request-Timestamp", now)
			r.Header.Set(headerSignature, sign("another", now, ""))
			w := httptest.NewRecorder()
			b.handler().ServeHTTP(w, r)
			status <- w.Code
		}()
	}
	held := 0
	for range forged {
		select {
		case <-stalled:
			held++
		case got := <-status:
			require.Equal(t, http.StatusServiceUnavailable, got)
		}
	}
	require.LessOrEqual(t, held, 32)
	const body = `{"type":"event_callback"}`
	require.Equal(t, http.StatusOK, deliver(t, b, now, sign(signingSecret, now, body), body))
	close(last)
	for range held {
		require.Equal(t, http.StatusUnauthorized, <-status)
	}
	large := `{"type":"event_callback","x":"` + strings.Repeat("x", 1<<20-100) + `"}`
	require.Equal(t, http.StatusOK, deliver(t, b, now, sign(signingSecret, now, large), large), "there is room again")
}

// pipes is a listener of connections without a network.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// Whoever dribbles has three seconds, for headers and body together.
func TestReadingARequestEnds(t *testing.T) {
	t.Parallel()
	head := "POST /slack/events HTTP/1.1\r\nHost: bot\r\nContent-Length: 1000\r\n"
	for name, sent := range map[string]string{"nothing": "", "half the headers": head, "half the body": head + "X-Slack-Request-Timestamp: %d\r\n" + headerSignature + ": v0=" + strings.Repeat("0", 64) + "\r\n\r\nhalf"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			all, ended := make(pipes), make(chan error, 1)
			b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret})
			go func() { ended <- b.Serve(ctx, all) }()
			stranger, bot := net.Pipe()
			all <- bot
			begun := time.Now()
			go func() {
				_, _ = io.WriteString(stranger, strings.Replace(sent, "%d", strconv.FormatInt(time.Now().Unix(), 10), 1))
			}()
			_, err := io.Copy(io.Discard, stranger)
			require.NoError(t, err, name)
			require.InDelta(t, 3, time.Since(begun).Seconds(), 0.6, name)
			cancel()
			close(all)
			require.NoError(t, <-ended)
		})
	}
}

// ask sends a request over a connection, and returns the status.
func ask(conn net.Conn, r *http.Request) (status int, err error) {
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	if err := r.Write(conn); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// event is an event as Slack sends it.
func event(t *testing.T, address string) *http.Request {
	t.Helper()
	const body = `{"type":"event_callback"}`
	now := strconv.FormatInt(time.Now().Unix(), 10)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/slack/events", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set(headerTimestamp, now)
	r.Header.Set(headerSignature, sign(signingSecret, now, body))
	return r
}

// A bot serves 1,024 connections at a time. Twice as many that stall, before their headers or in a body, keep Slack out
// for seconds only.
func TestStalledConnectionsKeepNobodyOutForLong(t *testing.T) {
	t.Parallel()
	address := served(t, alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret}))
	body := "POST /slack/events HTTP/1.1\r\nHost: bot\r\nContent-Length: 1000\r\nX-Slack-Request-Timestamp: " +
		strconv.FormatInt(time.Now().Unix(), 10) + "\r\n" + headerSignature + ": v0=" + strings.Repeat("0", 64) + "\r\n\r\nhalf"
	for i := range 2 * maxConnections {
		_, err := io.WriteString(dialed(t, address), []string{"", "POST /slack", body}[i%3])
		require.NoError(t, err)
	}
	begun := time.Now()
	status, err := ask(dialed(t, address), event(t, address))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Less(t, time.Since(begun), 10*time.Second)
}

// No connection outlives its answer: however many ask and stay, there is room for the next.
func TestConnectionsEndWithTheirAnswer(t *testing.T) {
	t.Parallel()
	address := served(t, alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret}))
	for i := range maxConnections + 100 {
		r := event(t, address)
		if i%2 == 1 {
			r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", http.NoBody)
		}
		conn := dialed(t, address)
		status, err := ask(conn, r)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		_, err = conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
}

// get is what a path of the bot's own answers.
func get(t *testing.T, b *Server, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	b.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// metricsOf is what /metrics shows.
func metricsOf(t *testing.T, b *Server) string {
	t.Helper()
	status, body := get(t, b, "/metrics")
	require.Equal(t, http.StatusOK, status)
	return body
}

// lines are what was logged, without races.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) of(words string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, words) {
			found = append(found, line)
		}
	}
	return found
}

// A flood of forged requests is a line of the log each five seconds.
func TestAFloodOfForgedRequestsIsLoggedInSamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Secret: signingSecret, Log: slog.New(slog.NewTextHandler(log, nil))})
		for i := range 3 {
			for range full.Of(100, 1_000) {
				require.Equal(t, http.StatusUnauthorized, deliver(t, b, "", "", "{}"))
			}
			require.Len(t, log.of("refuse request"), 1+i)
			time.Sleep(5 * time.Second)
		}
	})
}

// away is Redis that can't be reached.
type away struct{ *linkStore }

func (away) Ping(context.Context) error { return errors.New("connection refused") }

// Anybody who reaches the port may ask whether the bot is ready: a flood of that is logged in samples, too.
func TestAFloodOfProbesIsLoggedInSamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, store := &lines{}, newLinkStore()
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &heard{texts: map[string][]string{}}}}),
			Secret: signingSecret, Inbox: away{store}, Notifier: owner{}, Runner: noRunner{}, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		for i := range 3 {
			for range full.Of(100, 1_000) {
				status, _ := get(t, b, "/readyz")
				require.Equal(t, http.StatusServiceUnavailable, status)
			}
			require.Len(t, log.of("not ready"), 1+i)
			time.Sleep(5 * time.Second)
		}
	})
}

// hanging is a runner whose lines take a minute.
type hanging struct{ noRunner }

func (hanging) Do(context.Context, call.Invocation) (call.Result, error) {
	time.Sleep(time.Minute)
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("done at last")}}, nil
}

// heard takes answers at response URLs, and keeps their texts by URL. It is Slack's end without a network.
type heard struct {
	mu    sync.Mutex
	texts map[string][]string
}

func (h *heard) RoundTrip(r *http.Request) (*http.Response, error) {
	words, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts[r.URL.Path] = append(h.texts[r.URL.Path], string(words))
	answer := httptest.NewRecorder()
	switch {
	case strings.HasSuffix(r.URL.Path, "/auth.test"), strings.HasSuffix(r.URL.Path, "/bots.info"):
		_, _ = io.WriteString(answer, `{"ok":true,"team_id":"T0OURS","user_id":"U0BOT","bot_id":"B0BOT","bot":{"app_id":"A0OURS"}}`)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		_, _ = io.WriteString(answer, `{"ok":false,"error":"not_found"}`) // as for a view that was closed
	default:
		_, _ = io.WriteString(answer, "ok")
	}
	return answer.Result(), nil
}

func (h *heard) at(path string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts[path])
}

// sendForm sends a signed request to a path, as Slack does.
func sendForm(t *testing.T, b *Server, path string, form url.Values) int {
	t.Helper()
	now, body := strconv.FormatInt(time.Now().Unix(), 10), form.Encode()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Slack-Request-Timestamp", now)
	r.Header.Set(headerSignature, sign(signingSecret, now, body))
	w := httptest.NewRecorder()
	b.handler().ServeHTTP(w, r)
	return w.Code
}

// Of 1,500 lines of two people 1,024 wait for their answer. Each of the two is told once that others are dropped; the
// log has a line.
func TestWhoIsDroppedIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, slackEnd, store := &lines{}, &heard{texts: map[string][]string{}}, newLinkStore()
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}}),
			Secret: signingSecret, Inbox: store, Runner: hanging{}, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		for i := range 1_500 {
			user := []string{"U0ROB", "U0ANN"}[i%2]
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{
				"text": {"status"}, "user_id": {user}, "team_id": {"T0OURS"}, "trigger_id": {strconv.Itoa(i)}, "response_url": {"https://hooks.slack.com/" + user},
			}))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, user := range []string{"/U0ROB", "/U0ANN"} {
			require.Len(t, slackEnd.at(user), 1, user)
			require.Contains(t, slackEnd.at(user)[0], "Not done: too many requests are under way")
		}
		require.Len(t, log.of("too many requests at once"), 1)
		require.Contains(t, metricsOf(t, b), "\nwafbot_dropped_reads_total 476\n")
		b.Drain(t.Context())
		require.Len(t, slices.Concat(slackEnd.at("/U0ROB"), slackEnd.at("/U0ANN")), 2+1024)
	})
}

// What Slack sends without a place for an answer takes no time: an answer to it was tried for 90 s, and 32 of them held
// up everybody's lines.
func TestWithoutAnAddressNothingIsRetried(t *testing.T) {
	t.Parallel()
	official := []url.Values{
		{"payload": {`{"type":"view_closed","team":{"id":"T0OURS","domain":"d"},"user":{"id":"U0ROB","name":"rob"},"view":{"id":"V1","type":"modal","private_metadata":"","callback_id":""},"api_app_id":"A1","is_cleared":false}`}},
		{"payload": {`{"type":"shortcut","token":"x","action_ts":"1581106241.371594","team":{"id":"T0OURS","domain":"d"},"user":{"id":"U0ROB","username":"rob","team_id":"T0OURS"},"callback_id":"shortcut_create_task","trigger_id":"1.2.3"}`}},
		{"payload": {`{"type":"block_suggestion","user":{"id":"U0ROB","team_id":"T0OURS"},"container":{"type":"view","view_id":"V1"},"api_app_id":"A1","action_id":"a","block_id":"b","value":"x","team":{"id":"T0OURS"},"view":{"id":"V1","type":"modal"}}`}},
		{"payload": {`{"type":"block_suggestion","user":{"id":"U0ROB","team_id":"T0OURS"},"action_id":"a","block_id":"b","value":"x","team":{"id":"T0OURS"}}`}},
	}
	synctest.Test(t, func(t *testing.T) {
		slackEnd, store := &heard{texts: map[string][]string{}}, newLinkStore()
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}}),
			Secret: signingSecret, Inbox: store, Runner: noRunner{},
		})
		begun := time.Now()
		for i := range 40 {
			for _, form := range official {
				form.Set("n", strconv.Itoa(i)) // else it would be the same delivery
				require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/interactions", form))
			}
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"ssl_check": {"1"}, "token": {strconv.Itoa(i)}}))
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {"status"}, "token": {strconv.Itoa(i)}}))
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {"status"}, "token": {strconv.Itoa(i)}, "response_url": {"http://127.0.0.1:6379/"}}))
		}
		require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {"status"}, "user_id": {"U0ROB"}, "response_url": {"https://hooks.slack.com/rob"}}))
		b.Drain(t.Context())
		require.Zero(t, time.Since(begun))
		require.Len(t, slackEnd.at("/rob"), 1)
	})
}

// limitedSlack answers every post with 429.
type limitedSlack struct{ heard }

func (l *limitedSlack) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, slackconn.MethodPost) {
		return l.heard.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1800"}}, Body: http.NoBody}, nil
}

// /readyz says which methods Slack takes no calls of, and until when.
func TestReadinessShowsLongPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newLinkStore()
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &limitedSlack{heard{texts: map[string][]string{}}}}}),
			Secret: signingSecret, Inbox: store, Notifier: owner{}, Runner: noRunner{},
		})
		ready := func() string {
			status, body := get(t, b, "/readyz")
			require.Equal(t, http.StatusOK, status)
			return body
		}
		require.NotContains(t, ready(), "slack_limited")
		until := time.Now().Add(30 * time.Minute)
		_, _, err := b.Slack.Post(t.Context(), "C1")
		require.Error(t, err)
		time.Sleep(20 * time.Minute)
		require.Contains(t, ready(), `"slack_limited":{"chat.postMessage":"`+until.Format(time.RFC3339)+`"}`)
		time.Sleep(10 * time.Minute)
		require.NotContains(t, ready(), "slack_limited")
	})
}
