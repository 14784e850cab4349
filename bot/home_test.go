package bot

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// limitedHomes is Slack's end that takes no Home tab before a time.
type limitedHomes struct {
	heard

	until time.Time

	mu            sync.Mutex
	refused, took int
}

func (s *limitedHomes) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/views.publish") {
		return s.heard.RoundTrip(r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait := time.Until(s.until); wait > 0 {
		s.refused++
		seconds := fmt.Sprint(int(wait.Seconds()) + 1)
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}}, Body: http.NoBody, Request: r}, nil
	}
	s.took++
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"ok":true}`)), Request: r}, nil
}

func (s *limitedHomes) counted() (refused, took int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused, s.took
}

// robReads lets Rob alone read.
type robReads struct{ noRunner }

func (robReads) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	if inv.Actor.ID != "U0ROB" {
		return call.Result{}, refusal.Denied("no role")
	}
	return call.Result{Outcome: "done", Lines: text.Lines{text.New("all is quiet")}}, nil
}

// A guest can have the own Home tab drawn so often that Slack refuses it for a minute. That holds up nobody else, and comes to two drawings in the end.
func TestAHomeTabThatSlackRefusesHoldsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slackEnd := &limitedHomes{heard: heard{texts: map[string][]string{}}, until: time.Now().Add(time.Minute)}
		b := alone(Config{
			Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: slackEnd}}),
			Secret: signingSecret, Inbox: newLinkStore(), Runner: robReads{},
		})
		for i := range maxWaiting + 40 {
			click := fmt.Sprintf(`{"type":"block_actions","user":{"id":"U0EVE","team_id":"T0OURS"},"trigger_id":"%d","view":{"type":"home"},"actions":[{"action_id":%q,"value":"refresh"}]}`, i, card.ActionRefresh)
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/interactions", url.Values{"payload": {click}}))
			synctest.Wait()
		}
		require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", url.Values{"text": {"status"}, "user_id": {"U0ROB"}, "team_id": {"T0OURS"}, "response_url": {"https://hooks.slack.com/rob"}}))
		synctest.Wait()
		require.Len(t, slackEnd.at("/rob"), 1)
		require.Contains(t, slackEnd.at("/rob")[0], "all is quiet")

		b.Drain(t.Context())
		refused, took := slackEnd.counted()
		require.Equal(t, []int{1, 2}, []int{refused, took})
	})
}
