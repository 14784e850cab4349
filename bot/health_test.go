package bot

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn/slacktest"
)

// A token that was good at the start may be revoked by now.
func TestReadinessTellsOfSlackAsItIs(t *testing.T) {
	t.Parallel()
	s := slacktest.New(t, "", nil)
	b := linkedBot(s)
	happens(t, b, "Ev1", wrote("U0ROB", "1795000000.000100", "status"))
	s.Unknown.Store(true)
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code, "what Slack has is in the body only")
	require.Contains(t, w.Body.String(), `"slack":"can't be used: Slack has a fault of its own (internal_error)"`)
}
