package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/clock"
)

// dated answers everything with the time alone.
type dated struct{}

func (dated) RoundTrip(*http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_, _ = answer.WriteString("{}")
	return answer.Result(), nil
}

// The machine's clock is wrong, and no poll reads the service's: it is asked, so that what is due can be ended.
func TestAnAccountThatIsNotPolledLearnsTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clocks := clock.NewAhead(time.Hour)
		clocks.NoteRedis(time.Now(), time.Now())
		require.Contains(t, clocks.Unsure("acme"), "the service has not said the time yet")
		api, err := apiclient.New(apiclient.Config{BaseURL: "http://service", Token: "secret", ClientID: 5, HTTP: &http.Client{Transport: dated{}}, Clock: clocks.Service("acme"), Tries: 1})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&tenant{Account: &call.Account{Name: "acme"}, api: api}).askTime(ctx, clocks, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		require.Empty(t, clocks.Unsure("acme"))
		stop()
		<-done
	})
}
