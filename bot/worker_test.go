package bot

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// inbox holds one request.
type inbox struct {
	Inbox
	request request
	done    bool
}

func (i *inbox) Work(_ context.Context, handle func([]byte, func(context.Context) bool, func(context.Context) error)) error {
	work, err := json.Marshal(i.request)
	if err != nil {
		return err
	}
	handle(work, func(context.Context) bool { return true }, func(context.Context) error { i.done = true; return nil })
	return nil
}

// awayFor is a runner whose store is unreachable at first.
type awayFor struct {
	noRunner

	tries int
}

func (*awayFor) Changes(record.Line) bool { return true }

func (a *awayFor) Do(context.Context, call.Invocation) (call.Result, error) {
	if a.tries--; a.tries >= 0 {
		return call.Result{}, refusal.Away(context.DeadlineExceeded)
	}
	return call.Result{Outcome: "done", Lines: []text.Text{text.New("Deny 203.0.113.7: accepted by the service")}}, nil
}

// answered keeps the texts of answers.
type answered struct{ texts []string }

// RoundTrip implements http.RoundTripper.
func (a *answered) RoundTrip(r *http.Request) (*http.Response, error) {
	var message struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return nil, err
	}
	a.texts = append(a.texts, message.Text)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// A replica that takes over a dead one's request doesn't know whether it was done. It must not answer "not done" because Redis is unreachable.
func TestRequestTakenOverIsNotCalledUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		waited time.Duration
		tries  int
		want   string
	}{
		{"just accepted", 100 * time.Millisecond, 1, "not done: wafbot's store (Redis) can't be reached"},
		{"taken over", 4 * time.Second, 1, "Deny 203.0.113.7: accepted by the service"},
		{"taken over, away for long", 4 * time.Second, 60, "Deny 203.0.113.7: accepted by the service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := &answered{}
				waits := &inbox{request: request{ResponseURL: "http://slack/response", Invocation: call.Invocation{ID: "d", At: time.Now().Add(-c.waited)}}}
				b := New(Config{
					Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: answers}}),
					Inbox: waits, Runner: &awayFor{tries: c.tries}, Verbs: &awayFor{tries: c.tries},
				})
				require.NoError(t, b.Work(t.Context(), t.Context()))
				require.True(t, waits.done)
				require.Len(t, answers.texts, 1)
				require.Contains(t, answers.texts[0], c.want)
			})
		})
	}
}
