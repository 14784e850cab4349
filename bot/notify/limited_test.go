package notify

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Slack asks for half an hour. What isn't urgent waits for it; an incident is tried each minute, and once Slack takes
// one all others go on.
func TestALongPauseOfSlackDoesNotHoldIncidents(t *testing.T) {
	t.Parallel()
	var lifted time.Time
	var stored *box
	owningWith(t, func(string, string) string {
		if time.Now().Before(lifted) {
			return limits
		}
		return ""
	}, func(_ *Config, b *box) {
		stored = b
	}, func(n *Notifier, s *choosy) {
		tried := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.tries
		}
		lifted = time.Now().Add(10*time.Minute + 30*time.Second)
		stored.put("triage", "x:1", record.Triage{Owner: &record.Owner{ID: "U0ANN", Name: "Anna", Since: time.Now()}})
		n.Notify("acme", []record.Event{{ID: "took over", Account: "acme", Channel: "C1", Kind: record.TookOver, At: time.Now(), Detail: record.AttackFacts{To: "U0ANN"}}})
		time.Sleep(5 * time.Minute)
		require.Equal(t, 1, tried(), "it waits")
		emits(n, "C1", "incident")
		time.Sleep(5 * time.Minute)
		require.LessOrEqual(t, tried(), 1+6, "once a minute")
		require.GreaterOrEqual(t, tried(), 1+4)
		require.Empty(t, s.all())
		time.Sleep(3 * time.Minute)
		require.Len(t, s.all(), 2)
		require.Regexp(t, "^C1 incident 1[0-2]m", s.all()[0])
	})
}

// A replica that stops doesn't wait until it may edit: the next owner finds in the outbox what it didn't.
func TestAStopWaitsForNoEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := newBox(t)
		for range editsPerMinute / 5 { // all that may come at once
			wait, err := box.Slack.EditSlot(t.Context(), editsPerMinute, record.EditTurn{Of: "another", Due: time.Now()})
			require.NoError(t, err)
			require.Zero(t, wait)
		}
		n := made(Config{
			MessagesPerSecond: 1,

			Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: &choosy{}}}),
			Store:    box.Store,
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
		})
		more, stop := context.WithCancel(t.Context())
		edited, ended := make(chan error, 1), make(chan struct{})
		go func() { defer close(ended); n.Own(t.Context(), more, "acme", Unread{}) }()
		synctest.Wait()
		go func() {
			edited <- n.bringUpToDate(t.Context(), Post{Account: "acme", Delivery: "r1",
				replaces: record.Place{Channel: "C1", TS: "1.1"}})
		}()
		synctest.Wait()
		require.Empty(t, edited, "it waits")
		begun := time.Now()
		stop()
		require.ErrorIs(t, <-edited, errStopping)
		<-ended
		require.Zero(t, time.Since(begun))
	})
}
