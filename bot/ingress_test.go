package bot

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// witness notes who asked for what it is told to do.
type witness struct {
	noRunner

	asked chan record.Actor
}

func (w witness) Do(_ context.Context, inv call.Invocation) (call.Result, error) {
	w.asked <- inv.Actor
	return call.Result{}, nil
}

// A slash command that names no workspace is nobody's of ours: it was carried out as if its user were the one of the
// same id here.
func TestACommandWithoutAWorkspaceIsNotOfOurs(t *testing.T) {
	t.Parallel()
	for team, want := range map[string]string{"": "unknown", "T0OURS": "T0OURS"} {
		synctest.Test(t, func(t *testing.T) {
			asked := make(chan record.Actor, 1)
			b := alone(Config{
				Slack:  slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &heard{texts: map[string][]string{}}}}),
				Secret: signingSecret, Inbox: newLinkStore(), Runner: witness{asked: asked},
			})
			form := url.Values{"text": {"status"}, "user_id": {"U0ROB"}, "trigger_id": {"1"}, "response_url": {"https://hooks.slack.com/U0ROB"}}
			if team != "" {
				form.Set("team_id", team)
			}
			require.Equal(t, http.StatusOK, sendForm(t, b, "/slack/commands", form))
			synctest.Wait()
			require.Equal(t, want, (<-asked).Team)
			b.Drain(t.Context())
		})
	}
}
