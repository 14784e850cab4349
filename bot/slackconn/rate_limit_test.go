package slackconn

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
)

// busy is a Slack that limits one method, once.
type busy struct {
	after string // the header Retry-After
	body  string
	date  time.Time
	asked []string // methods
}

// RoundTrip implements http.RoundTripper.
func (s *busy) RoundTrip(req *http.Request) (*http.Response, error) {
	method := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	s.asked = append(s.asked, method)
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {s.date.Format(http.TimeFormat)}}, Request: req}
	res.Body = io.NopCloser(strings.NewReader(`{"ok":true,"channel":"C1","ts":"1.1"}`))
	if method == MethodPost && len(s.asked) == 1 {
		res.StatusCode, res.Body = http.StatusTooManyRequests, io.NopCloser(strings.NewReader(s.body))
		if s.after != "" {
			res.Header.Set("Retry-After", s.after)
		}
	}
	return res, nil
}

func TestLimitedMethodIsNotCalled(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // Slack's, which isn't ours
	const plain, posting = `{"ok":false,"error":"ratelimited"}`, `{"retry_after":1,"ok":false,"error":"rate_limited"}`
	for name, c := range map[string]struct {
		after, body string
		hold        time.Duration
	}{
		"seconds":     {"30", plain, 30 * time.Second},
		"a date":      {clock.Add(40 * time.Second).Format(http.TimeFormat), posting, 40 * time.Second},
		"none":        {"", posting, time.Second},
		"junk":        {"soon", plain, time.Second},
		"less":        {"-5", plain, time.Second},
		"absurd":      {"99999999999999999999", plain, time.Hour},
		"a past date": {clock.Add(-time.Hour).Format(http.TimeFormat), plain, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &busy{after: c.after, body: c.body, date: clock}
				api := Connect(Config{Token: "xoxb-1", HTTP: &http.Client{Transport: s}}).api
				post := func(channel string) error {
					_, _, err := api.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false))
					return err
				}
				v, wait := Judge(post("C1"))
				require.Equal(t, Doubtful, v, "a 429 does not prove that nothing was posted")
				require.Equal(t, c.hold, wait)

				time.Sleep(c.hold - time.Millisecond)
				err := post("C2")
				v, wait = Judge(err)
				require.Equal(t, NotSent, v, "nothing was sent")
				require.Equal(t, time.Millisecond, wait)
				var held *heldError
				require.True(t, errors.As(err, &held))
				_, _, _, err = api.UpdateMessageContext(t.Context(), "C1", "1.1", slack.MsgOptionText("x", false))
				require.NoError(t, err, "other methods go on")

				time.Sleep(time.Millisecond)
				require.NoError(t, post("C2"))
				require.Equal(t, []string{MethodPost, MethodUpdate, MethodPost}, s.asked)
			})
		})
	}
}
