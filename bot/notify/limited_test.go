package notify

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// AllTriage says that U0ANN owns an attack.
func (o *tries) AllTriage(context.Context, string) (map[string]record.Triage, error) {
	return map[string]record.Triage{"x:1": {Owner: &record.Owner{ID: "U0ANN", Name: "Anna", Since: time.Now()}}}, nil
}

// PostSlot and EditSlot give every right at once.
func (o *tries) PostSlot(context.Context, string, float64, int, int) (time.Duration, error) {
	return 0, nil
}
func (o *tries) EditSlot(context.Context, int, record.EditTurn) (time.Duration, error) {
	return 0, nil
}

// Slack asks for half an hour. What isn't urgent waits for it; an incident is tried each minute, and once Slack takes one all others go on.
func TestALongPauseOfSlackDoesNotHoldIncidents(t *testing.T) {
	t.Parallel()
	var lifted time.Time
	owning(t, func(string, string) string {
		if time.Now().Before(lifted) {
			return limits
		}
		return ""
	}, func(n *Notifier, s *choosy) {
		tried := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.tries
		}
		lifted = time.Now().Add(10*time.Minute + 30*time.Second)
		n.Notify("acme", []record.Event{{ID: "took over", Account: "acme", Channel: "C1", Kind: record.TookOver, At: time.Now(), Payload: record.Assignment{To: "U0ANN"}}})
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

// spent is a Pace that has no edit left for an hour.
type spent struct{ *tries }

func (spent) EditSlot(context.Context, int, record.EditTurn) (time.Duration, error) {
	return time.Hour, nil
}

// A replica that stops doesn't wait until it may edit: the next owner finds in the outbox what it didn't.
func TestAStopWaitsForNoEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &tries{tried: map[string]time.Time{}}
		n := New(Config{
			MessagesPerSecond: 1,

			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: &choosy{}}}),
			Stores: Stores{Outbox: box, Cards: box, Attacks: box, Triage: box, Changes: box, Redraws: box, Drills: box, Pace: spent{box}},
		})
		more, stop := context.WithCancel(t.Context())
		edited, ended := make(chan error, 1), make(chan struct{})
		go func() { defer close(ended); n.Own(t.Context(), more, "acme", Unread{}) }()
		synctest.Wait()
		go func() {
			edited <- n.deliver.bringUpToDate(t.Context(), Post{Account: "acme", Delivery: "r1", replaces: record.Place{Channel: "C1", TS: "1.1"}})
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
