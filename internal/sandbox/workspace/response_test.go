package workspace_test

import (
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// answer posts to a response URL and returns status and body.
func answer(t *testing.T, target, body string) (int, string) {
	t.Helper()
	status, _, got := raw(t, target, "application/json", body)
	return status, got
}

func (w *world) command(t *testing.T) workspace.Delivery {
	t.Helper()
	d, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
	require.NoError(t, err)
	return d
}

func TestResponseURLTakesFiveAnswers(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.command(t)
	for range 5 {
		require.NoError(t, slack.PostWebhookContext(t.Context(), d.ResponseURL, &slack.WebhookMessage{Text: "hi"}))
	}
	status, body := answer(t, d.ResponseURL, `{"text":"hi"}`)
	require.Equal(t, 404, status)
	require.JSONEq(t, `{"ok":false,"error":"used_url"}`, body)
	require.Len(t, w.Ephemerals("ann"), 5)
	require.Empty(t, w.Messages("#waf"), "answers are ephemeral unless they say otherwise")
}

func TestResponseURLEndsAfterHalfAnHour(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.command(t)
	w.clock.Advance(30 * time.Minute)
	status, _ := answer(t, d.ResponseURL, `{"text":"just in time"}`)
	require.Equal(t, 200, status)
	w.clock.Advance(time.Millisecond)
	status, body := answer(t, d.ResponseURL, `{"text":"late"}`)
	require.Equal(t, 404, status)
	require.JSONEq(t, `{"ok":false,"error":"expired_url"}`, body)
	status, _ = answer(t, w.base+"/response/made-up", `{"text":"x"}`)
	require.Equal(t, 404, status)
}

func TestResponseURLAnswers(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.card(t)
	d, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: ts, Button: "Deny"})
	require.NoError(t, err)

	status, _ := answer(t, d.ResponseURL, `{"response_type":"in_channel","text":"for all","thread_ts":"`+ts+`"}`)
	require.Equal(t, 200, status)
	require.Equal(t, ts, w.Messages("#waf")[1].ThreadTS)
	status, _ = answer(t, d.ResponseURL, `{"replace_original":true,"text":"f","blocks":[{"type":"header","text":{"type":"plain_text","text":"Denied"}}]}`)
	require.Equal(t, 200, status)
	m := w.Messages("#waf")[0]
	require.Equal(t, "Denied", m.Plain())
	require.Equal(t, 1, m.Edited)
	require.NotEmpty(t, m.Metadata)
	status, body := answer(t, d.ResponseURL, `{"text":"f","blocks":[{"type":"header","text":{"type":"plain_text","text":""}}]}`)
	require.Equal(t, 400, status)
	require.Contains(t, body, "invalid_blocks")
	status, _ = answer(t, d.ResponseURL, `{"delete_original":true}`)
	require.Equal(t, 200, status)
	require.Len(t, w.Messages("#waf"), 1)
	status, _ = answer(t, d.ResponseURL, `{"replace_original":true,"text":"x"}`)
	require.Equal(t, 400, status, "there is nothing left to replace")
}

func TestCommandsHaveNoOriginal(t *testing.T) {
	t.Parallel()
	w := start(t)
	status, body := answer(t, w.command(t).ResponseURL, `{"replace_original":true,"text":"x"}`)
	require.Equal(t, 400, status)
	require.Contains(t, body, "no_original_message")
	status, body = answer(t, w.command(t).ResponseURL, `{}`)
	require.Equal(t, 400, status)
	require.Contains(t, body, "no_text")
}
