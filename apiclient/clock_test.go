package apiclient_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// noted are the times that a client has learnt.
type noted []time.Time

func (n *noted) Note(_, at time.Time) { *n = append(*n, at) }

// The service's clock is told by its answers. A proxy that answers for it has a clock of its own.
func TestWhichAnswersTellTheTime(t *testing.T) {
	t.Parallel()
	said := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for status, tells := range map[int]bool{200: true, 307: false, 401: false, 403: false, 429: false, 500: false, 502: false, 503: false, 504: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", said.Format(http.TimeFormat))
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"status":200,"body":[]}`))
		}))
		t.Cleanup(server.Close)
		var clock noted
		c, err := apiclient.New(apiclient.Config{BaseURL: server.URL, Token: "secret", ClientID: 5, HTTP: server.Client(),
			Tries: 1, Note: clock.Note})
		require.NoError(t, err)
		for _, err = range c.ConditionSets(t.Context()) {
			require.Error(t, err)
		}
		require.Equal(t, tells, len(clock) == 1, "%d: %v", status, err)
	}
}
