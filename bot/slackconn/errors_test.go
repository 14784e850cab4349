package slackconn_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

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
