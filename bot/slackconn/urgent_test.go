package slackconn_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

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
