package workspace_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestTheAppTokenOpensLinksAndNothingElse(t *testing.T) {
	t.Parallel()
	w := start(t)
	opened := regexp.MustCompile(`^\{"ok":true,"url":"ws://127\.0\.0\.1:\d+/slack/link/\?app_id=A0WAFBOT\\u0026ticket=\w+"\}`)
	for token, want := range map[string]*regexp.Regexp{
		appToken:     opened,
		token:        regexp.MustCompile(`"not_allowed_token_type"`),
		"xapp-wrong": regexp.MustCompile(`"invalid_auth"`),
		"":           regexp.MustCompile(`"not_authed"`),
	} {
		require.Regexp(t, want, w.asked(t, "apps.connections.open", token, true))
		require.Regexp(t, want, w.asked(t, "apps.connections.open", token, false))
	}
	_, address, err := slack.New(token, slack.OptionAPIURL(w.base+"/api/"), slack.OptionAppLevelToken(appToken)).StartSocketModeContext(t.Context())
	require.NoError(t, err, "the library sends JSON without a body")
	require.Contains(t, address, "ticket=")
	require.Contains(t, w.asked(t, "chat.postMessage", appToken, true), "not_allowed_token_type")
	require.Contains(t, w.asked(t, "auth.test", appToken, true), `"ok":true`)

	w.SetFault(workspace.Fault{Method: "apps.connections.open", Kind: "missing_scope", Times: 1})
	require.Contains(t, w.asked(t, "apps.connections.open", appToken, true), `"needed":"connections:write"`)
	all, err := json.Marshal(w.Calls())
	require.NoError(t, err)
	require.NotContains(t, string(all), "xapp-")
}

func TestAnswersNameTheScopes(t *testing.T) {
	t.Parallel()
	w := start(t)
	for method, accepted := range map[string]string{
		"auth.test": "", "users.info": "users:read", "conversations.info": "channels:read,groups:read,mpim:read,im:read",
	} {
		_, header, _ := raw(t, w.base+"/api/"+method, "application/json", `{}`)
		require.Equal(t, strings.Join(workspace.DefaultScopes(), ","), header.Get("X-OAuth-Scopes"))
		require.Equal(t, accepted, header.Get("X-Accepted-OAuth-Scopes"), method)
	}
}

// What is kept in logs and histories holds no token: Slack takes none from an address, and from JSON only the header's.
func TestATokenElsewhereIsNone(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, sent := range []struct{ query, kind, body string }{
		{"?token=" + token, "application/x-www-form-urlencoded", ""},
		{"", "application/json", `{"token":"` + token + `"}`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base+"/api/auth.test"+sent.query, strings.NewReader(sent.body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", sent.kind)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(got), "not_authed", sent.kind)
	}
}
