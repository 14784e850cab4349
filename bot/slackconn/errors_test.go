package slackconn_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// answers is a Slack that answers each request so, or not at all.
type answers struct {
	status int
	body   io.Reader
	err    error
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{"Retry-After": {"1"}}, Body: io.NopCloser(a.body), Request: r}, nil
}

// cutShort is a body that ends too early.
type cutShort struct{ io.Reader }

func (c cutShort) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// After an answer, whatever it says, a request can't take effect any more. All of these may have posted.
func TestWhichRequestsSlackIsDoneWith(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		slack answers
		done  bool
	}{
		"500":          {answers{status: 500, body: strings.NewReader("fault")}, true},
		"503":          {answers{status: 503, body: strings.NewReader("upstream connect error")}, false},
		"429":          {answers{status: 429, body: strings.NewReader("{}")}, true},
		"html":         {answers{status: 200, body: strings.NewReader("<html>")}, true},
		"cut short":    {answers{status: 200, body: cutShort{strings.NewReader(`{"ok":`)}}, true},
		"its own name": {answers{status: 200, body: strings.NewReader(`{"ok":false,"error":"internal_error"}`)}, true},
		"unavailable":  {answers{status: 200, body: strings.NewReader(`{"ok":false,"error":"service_unavailable"}`)}, true},
		"too many":     {answers{status: 200, body: strings.NewReader(`{"ok":false,"error":"rate_limited"}`)}, true},
		"a proxy's":    {answers{status: 502, body: strings.NewReader("bad gateway")}, false},
		"time-out":     {answers{status: 504, body: strings.NewReader("gateway time-out")}, false},
		"cut":          {answers{err: io.ErrUnexpectedEOF}, false},
	} {
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: tt.slack}})
		_, _, err := s.Post(t.Context(), "C1")
		v, _ := slackconn.Judge(err)
		require.Equal(t, slackconn.Doubtful, v, name)
		require.Equal(t, tt.done, slackconn.Answered(err), name)
	}
}

// What answers with neither ok nor an error isn't Slack: a post that got such an answer may be there, or not.
func TestAnAnswerThatIsntSlacks(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`null`, `{}`, `{"ok":null}`, `{"error":""}`, ` {"status":"up"}`} {
		answered := func() *slackconn.Client {
			client := &http.Client{Transport: answers{status: http.StatusOK, body: strings.NewReader(body)}}
			return slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: client})
		}
		_, _, err := answered().Post(t.Context(), "C1")
		require.ErrorContains(t, err, "isn't Slack's", body)
		outcome, _ := slackconn.Judge(err)
		require.Equal(t, slackconn.Doubtful, outcome, body)
		require.Error(t, answered().Update(t.Context(), "C1", "1.1"), body)
	}
}

// What Slack repeats of a message isn't read, so nothing in it can make a message look doubtful that was taken.
func TestTheMessageInAnAnswerIsNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, fails string }{
		"unreadable message": {`{"ok":true,"channel":"C1","ts":"7.1","message":{"ts":7,"blocks":[{"type":"section","text":[]}]}}`, ""},
		"none":               {`{"ok":true,"channel":"C1","ts":"7.1"}`, ""},
		"refused":            {`{"ok":false,"error":"invalid_blocks","message":7,"response_metadata":{"messages":["[ERROR] too long"]}}`, "invalid_blocks: [ERROR] too long"},
		"no object":          {`[]`, "cannot unmarshal array"},
		"a page":             {`<html>`, "invalid character '<'"},
	} {
		slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.answer) }))
		t.Cleanup(slack.Close)
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", APIURL: slack.URL + "/api/"})
		channel, ts, err := s.Post(t.Context(), "C1")
		edit := s.Update(t.Context(), "C1", "7.1")
		if c.fails != "" {
			require.ErrorContains(t, slackconn.Detailed(err), c.fails, name)
			require.ErrorContains(t, slackconn.Detailed(edit), c.fails, name)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, edit, name)
		require.Equal(t, []string{"C1", "7.1"}, []string{channel, ts}, name)
	}
}

// limiting is a Slack that takes no posts until a time, and says that it will be much longer.
type limiting struct {
	until time.Time
	posts []time.Duration // when it was asked to post
	begun time.Time
}

func (l *limiting) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(`{"ok":true,"channel":"C1","ts":"1.1"}`))}
	if strings.HasSuffix(r.URL.Path, slackconn.MethodPost) {
		l.posts = append(l.posts, time.Since(l.begun))
		if time.Now().Before(l.until) {
			res.StatusCode = http.StatusTooManyRequests
			res.Header.Set("Retry-After", "1800")
		}
	}
	return res, nil
}

// Slack's Retry-After of half an hour counts for the method that said it. What is urgent is tried once a minute, by one caller, and if Slack takes it the pause
// is over for all.
func TestALongPauseCountsButForWhatIsUrgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		end := &limiting{begun: begun, until: begun.Add(90 * time.Second)}
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: end}})
		post := func(ctx context.Context) error { _, _, err := s.Post(ctx, "C1"); return err }
		incident := slackconn.Urgent(t.Context())

		require.Error(t, post(t.Context()))
		require.Equal(t, map[string]time.Time{slackconn.MethodPost: begun.Add(30 * time.Minute)}, s.Held())
		require.Equal(t, 30*time.Minute, s.HeldFor(slackconn.MethodPost, false))
		require.Equal(t, time.Minute, s.HeldFor(slackconn.MethodPost, true))
		require.NoError(t, s.Update(t.Context(), "C1", "1.1"), "other methods go on")

		for range 119 { // 2 min
			time.Sleep(time.Second)
			for range 3 {
				require.Error(t, post(incident))
			}
			require.Error(t, post(t.Context()))
		}
		time.Sleep(time.Second)
		require.NoError(t, post(incident))
		require.NoError(t, post(incident))
		require.NoError(t, post(t.Context()))
		require.Empty(t, s.Held())
		require.Equal(t, []time.Duration{0, time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute}, end.posts)
	})
}
