package slackconn

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMissingScopesAreLogged(t *testing.T) {
	t.Parallel()
	for scopes, said := range map[string]string{
		"chat:write,commands,app_mentions:read,im:history,users:read,groups:history,channels:read,groups:read,usergroups:read": "a card can come twice there, never not at all",
		"": "", // Slack doesn't say
	} {
		slackEnd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-OAuth-Scopes", scopes)
			_, _ = io.WriteString(w, `{"ok":true,"team_id":"T1","user_id":"U1","bot_id":"B1"}`)
		}))
		t.Cleanup(slackEnd.Close)
		var log bytes.Buffer
		c := Connect(Config{Token: "xoxb-1", APIURL: slackEnd.URL + "/", Log: slog.New(slog.NewTextHandler(&log, nil))})
		c.LogMissingScopes(t.Context())
		if said == "" {
			require.Empty(t, log.String())
			continue
		}
		require.Contains(t, log.String(), "channels:history")
		require.Contains(t, log.String(), said)
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")))
	}
}
