package slackconn_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

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
