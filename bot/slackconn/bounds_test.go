package slackconn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
	"github.com/wafbot/wafbot/internal/full"
)

// allocated is how many MB something allocates, garbage included. Nothing else may run beside it.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// endless is an answer of 512 MB, whose client leaves when it has enough.
func endless(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"ok":true,"team_id":"T1","user_id":"U1","junk":"`)
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 512 {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// patiently connects without a timeout: a busy machine takes long for 8 MiB.
func patiently(end *httptest.Server) *slackconn.Client {
	return slackconn.Connect(slackconn.Config{Token: "xoxb-secret", APIURL: end.URL + "/api/", HTTP: &http.Client{}})
}

// Whatever an answer holds, a call reads a bounded part of it: at most 8 MiB, of user groups 32. The answer's 512 MB
// took 2 GB.
func TestAnswersAreReadUpToABound(t *testing.T) {
	full.Only(t)
	end := httptest.NewServer(http.HandlerFunc(endless))
	t.Cleanup(end.Close)
	for name, c := range map[string]struct {
		call func(ctx context.Context, s *slackconn.Client) error
		most uint64 // MB: what is read, in the doubled buffer of a JSON decoder, and what the reading costs
	}{
		"post": {func(ctx context.Context, s *slackconn.Client) error { _, _, err := s.Post(ctx, "C1"); return err }, 48},
		"who":  {func(ctx context.Context, s *slackconn.Client) error { _, err := s.Self(ctx); return err }, 48},
		"view": {func(ctx context.Context, s *slackconn.Client) error {
			return s.UpdateView(ctx, "V1", slack.ModalViewRequest{})
		}, 48},
		"groups": {func(ctx context.Context, s *slackconn.Client) error { _, err := s.UserGroups(ctx); return err }, 160},
		"response": {func(ctx context.Context, s *slackconn.Client) error {
			return s.Respond(ctx, end.URL, &slack.WebhookMessage{})
		}, 48},
		"history": {func(ctx context.Context, s *slackconn.Client) error {
			_, _, err := s.History(ctx, slackconn.HistoryQuery{Channel: "C1"})
			return err
		}, 3 * 48}, // it tries two smaller pages
	} {
		s := patiently(end)
		var err error
		require.Less(t, allocated(func() { err = c.call(t.Context(), s) }), c.most, name)
		if name != "response" { // of which only an error in it counts
			require.ErrorContains(t, err, "the rest is not read", name)
		}
	}
}

// People can write pages of a channel that are too large. They are read in smaller ones.
func TestAPageThatIsTooLargeIsReadInSmallerOnes(t *testing.T) {
	t.Parallel()
	end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") != "20" {
			endless(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"messages":[{"ts":"1.1"}],"response_metadata":{"next_cursor":"next"}}`)
	}))
	t.Cleanup(end.Close)
	s := patiently(end)
	msgs, next, err := s.History(t.Context(), slackconn.HistoryQuery{Channel: "C1"})
	require.NoError(t, err)
	require.Len(t, msgs, 1)
	require.Equal(t, "next", next.Cursor)
}

// A reading ends where Slack's pages don't: at one that came before, and after very many.
func TestAReadingEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after func(n int) string // the cursor on the page of that number
		pages int                // that are read, and the one that is too much
	}{
		"the same page":     {func(int) string { return "a" }, 2},
		"two in turn":       {func(n int) string { return string(rune('a' + n%2)) }, 3},
		"always other ones": {func(n int) string { return strconv.Itoa(n) }, 10_001},
	} {
		pages := 0
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: answering(func() string {
			pages++
			return `{"ok":true,"messages":[{"ts":"1.1"}],"response_metadata":{"next_cursor":"` + c.after(pages) + `"}}`
		})}})
		q, err := slackconn.HistoryQuery{Channel: "C1"}, error(nil)
		for err == nil && pages < 20_000 {
			_, q, err = s.History(t.Context(), q)
		}
		require.ErrorIs(t, err, slackconn.ErrSamePage, name)
		require.Equal(t, c.pages, pages, name)
	}
}

// answering is Slack's end without a network.
type answering func() string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(a())), Request: r}, nil
}

// handled counts envelopes.
type handled struct{ envelopes atomic.Int64 }

func (h *handled) Envelope(context.Context, string, string, []byte) *slack.ViewSubmissionResponse {
	h.envelopes.Add(1)
	return nil
}

// A frame of over 2 MiB ends its link before it is read. Four of 15 MB took 188 MB before any was decoded.
func TestFramesAreReadUpToABound(t *testing.T) {
	large, err := json.Marshal(map[string]any{"envelope_id": "e1", "type": "events_api", "payload": strings.Repeat("x", 15_000_000)})
	require.NoError(t, err)
	links := make(chan bool, 16)
	end := slacktest.New(t, "", func(conn *websocket.Conn, first bool) {
		if first {
			for range 4 {
				_ = conn.WriteMessage(websocket.TextMessage, large)
			}
		}
		links <- true
		_, _, _ = conn.ReadMessage()
	})
	ctx, cancel := context.WithCancel(t.Context())
	h := &handled{}
	socket := slackconn.NewSocket(slackconn.SocketConfig{
		Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: end.URL + "/api/"}),
		Links: slacktest.NewLinks(), Handle: h.Envelope, Log: slog.New(slog.DiscardHandler),
		Opens: prometheus.NewCounter(prometheus.CounterOpts{Name: "opens"}), Acknowledged: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "acknowledged"}),
	})
	require.Less(t, allocated(func() {
		ended := make(chan error, 1)
		go func() { ended <- socket.Receive(ctx) }()
		for range 3 { // both links, and the one in place of the first
			<-links
		}
		cancel()
		require.NoError(t, <-ended)
	}), uint64(48))
	require.Zero(t, h.envelopes.Load())
}

// elsewhere is another host than Slack's, which takes down what it is sent.
func elsewhere(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(end.Close)
	return end.URL, asked
}

// A redirect of Slack's address leads the token nowhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		other, asked := elsewhere(t)
		end := httptest.NewServer(http.RedirectHandler(other, status))
		t.Cleanup(end.Close)
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", AppToken: "xapp-secret", APIURL: end.URL + "/api/", HTTP: &http.Client{}})
		_, _, err := s.Post(t.Context(), "C1")
		require.Error(t, err)
		trouble, _ := slackconn.Explain(err)
		require.Contains(t, trouble.Fix, "check slack.api_url")
		_, err = s.Self(t.Context())
		require.Error(t, err)
		_, _, err = s.History(t.Context(), slackconn.HistoryQuery{Channel: "C1"})
		require.Error(t, err)
		_, err = s.TrySocket(t.Context())
		require.Error(t, err)
		require.Error(t, s.Respond(t.Context(), end.URL, &slack.WebhookMessage{}))
		require.Zero(t, asked.Load(), "%d", status)
	}
}

// hosts answers "ok", without a network, and takes down who was asked.
type hosts struct{ asked []string }

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked = append(h.asked, r.URL.Scheme+"://"+r.URL.Host)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), Request: r}, nil
}

// Answers go to Slack, wherever a delivery wants them.
func TestResponseURLs(t *testing.T) {
	t.Parallel()
	const slacks, govs, proxy = "https://slack.com/api/", "https://slack-gov.com/api/", "http://10.0.0.7:8080/slack/api/"
	for _, c := range []struct {
		api, address string
		sent         bool
	}{
		{slacks, "https://hooks.slack.com/actions/T1/2/3", true},
		{slacks, "https://slack.com/response/1", true},
		{slacks, "http://hooks.slack.com/actions/T1/2/3", false},
		{slacks, "https://hooks.slack.com.example.net/actions", false},
		{slacks, "https://hooks.slack.com@example.net/actions", false},
		{slacks, "https://example.net/hooks.slack.com", false},
		{slacks, "http://169.254.169.254/latest/meta-data", false},
		{slacks, "http://127.0.0.1:6379/", false},
		{govs, "https://hooks.slack-gov.com/actions/T1/2/3", true},
		{proxy, "http://10.0.0.7:8080/response/1", true},
		{proxy, "https://hooks.slack.com/actions/T1/2/3", true},
		{proxy, "http://10.0.0.8:8080/response/1", false},
	} {
		h := &hosts{}
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", APIURL: c.api, HTTP: &http.Client{Transport: h}})
		err := s.Respond(t.Context(), c.address, &slack.WebhookMessage{})
		if c.sent {
			u, parsed := url.Parse(c.address)
			require.NoError(t, errors.Join(err, parsed))
			require.Equal(t, []string{u.Scheme + "://" + u.Host}, h.asked, c.address)
			continue
		}
		require.Error(t, err, c.address)
		require.NotContains(t, err.Error(), c.address)
		require.Empty(t, h.asked, c.address)
		_, again := slackconn.Again(err)
		require.False(t, again, c.address)
	}
}
