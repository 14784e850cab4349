package workspace_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// signature computes Slack's signature by hand.
func signature(r received) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + r.header.Get("X-Slack-Request-Timestamp") + ":" + r.body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

func (w *world) card(t *testing.T) string {
	t.Helper()
	return w.post(t, "C1WAF", slack.MsgOptionText("fallback", false), card(),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "card", EventPayload: map[string]any{"id": "d1"}}))
}

func TestClickSendsASignedPayload(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.card(t)
	d, err := w.Click(t.Context(), workspace.Click{User: "eve", Channel: "#waf", TS: ts, Button: "Deny"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, d.Status)
	require.Empty(t, d.Warning)

	got := w.bot.got()[0]
	require.Equal(t, "/slack/interactions", got.path)
	require.Equal(t, "application/x-www-form-urlencoded", got.header.Get("Content-Type"))
	require.Equal(t, "1795000000", got.header.Get("X-Slack-Request-Timestamp"))
	require.Equal(t, signature(got), got.header.Get("X-Slack-Signature"))

	var callback slack.InteractionCallback
	require.NoError(t, json.Unmarshal([]byte(got.form.Get("payload")), &callback))
	require.Equal(t, slack.InteractionTypeBlockActions, callback.Type)
	require.Equal(t, "U3EVE", callback.User.ID)
	require.Equal(t, "T9OTHER", callback.User.TeamID, "a stranger's own team")
	require.Equal(t, "T0SANDBOX", callback.Team.ID)
	require.Equal(t, "C1WAF", callback.Channel.ID)
	require.Equal(t, ts, callback.Container.MessageTs)
	require.Equal(t, "A0WAFBOT", callback.APIAppID)
	require.Equal(t, d.ResponseURL, callback.ResponseURL)
	require.NotEmpty(t, callback.TriggerID)
	require.Equal(t, ts, callback.Message.Timestamp)
	require.Empty(t, callback.Message.Metadata.EventType, "metadata stays behind")
	require.Len(t, callback.Message.Blocks.BlockSet, 3)
	action := callback.ActionCallback.BlockActions[0]
	require.Equal(t, "deny", action.ActionID)
	require.Equal(t, "acts", action.BlockID)
	require.Equal(t, "deny 203.0.113.7 for=4h", action.Value)
	require.Contains(t, got.form.Get("payload"), `"confirm":{`)
	for _, field := range []string{`"state":{"values":{}}`, `"is_enterprise_install":false`, `"enterprise":null`, `"is_ephemeral":false`} {
		require.Contains(t, got.form.Get("payload"), field)
	}
}

func TestClickFindsItsButton(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.card(t)
	for button, value := range map[string]string{"I'm on it": "ack", "ack": "ack", "deny 203.0.113.7 for=4h": "deny 203.0.113.7 for=4h", "I'm": "ack"} {
		_, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: ts, Button: button})
		require.NoError(t, err)
		got := w.bot.got()
		var callback slack.InteractionCallback
		require.NoError(t, json.Unmarshal([]byte(got[len(got)-1].form.Get("payload")), &callback))
		require.Equal(t, value, callback.ActionCallback.BlockActions[0].Value)
	}
	_, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: ts, Button: "Report"})
	require.NoError(t, err)
	var callback slack.InteractionCallback
	require.NoError(t, json.Unmarshal([]byte(w.bot.got()[4].form.Get("payload")), &callback))
	require.Equal(t, "report", callback.ActionCallback.BlockActions[0].SelectedOption.Value)

	for _, c := range []workspace.Click{
		{User: "ann", Channel: "#waf", TS: ts, Button: "Allow"},
		{User: "ann", Channel: "#waf", TS: ts, Button: ""},
		{User: "ann", Channel: "#waf", TS: ts, Button: "more"}, // two options have that action id
		{User: "ann", Channel: "#waf", TS: "1.000001", Button: "Deny"},
		{User: "nobody", Channel: "#waf", TS: ts, Button: "Deny"},
		{User: "ann", Channel: "#waf", TS: ts, Button: "ack", Cancel: true}, // it has no dialog
	} {
		_, err := w.Click(t.Context(), c)
		require.Error(t, err, "%+v", c)
	}
	_, err = w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: ts, Button: "Deny", Cancel: true})
	require.NoError(t, err)
	require.Len(t, w.bot.got(), 5, "neither errors nor a no send anything")
}

func TestASelectInAMessageSendsItsOption(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.post(t, "C1WAF", slack.MsgOptionBlocks(slack.NewActionBlock("row", slack.NewOptionsSelectBlockElement(
		slack.OptTypeStatic, slack.NewTextBlockObject("plain_text", "p", false, false), "pick",
		slack.NewOptionBlockObject("1", slack.NewTextBlockObject("plain_text", "One", false, false), nil),
		slack.NewOptionBlockObject("2", slack.NewTextBlockObject("plain_text", "Two", false, false), nil),
	))))
	_, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "waf", TS: ts, Button: "pick", Values: map[string]any{"pick": "Two"}})
	require.NoError(t, err)
	var sent slack.InteractionCallback
	require.NoError(t, json.Unmarshal([]byte(w.bot.got()[0].form.Get("payload")), &sent))
	require.Equal(t, "2", sent.ActionCallback.BlockActions[0].SelectedOption.Value)
	require.Equal(t, "2", sent.BlockActionState.Values["row"]["pick"].SelectedOption.Value)
	_, err = w.Click(t.Context(), workspace.Click{User: "ann", Channel: "waf", TS: ts, Button: "pick", Values: map[string]any{"pick": "Three"}})
	require.ErrorContains(t, err, "Three")
}

func TestEphemeralClicksAreThatUsersAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts, err := w.client.PostEphemeralContext(t.Context(), "C1WAF", "U1ANN", card())
	require.NoError(t, err)
	_, err = w.Click(t.Context(), workspace.Click{User: "bob", Channel: "#waf", TS: ts, Button: "Deny"})
	require.Error(t, err)
	d, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: ts, Button: "Deny"})
	require.NoError(t, err)
	require.Contains(t, w.bot.got()[0].form.Get("payload"), `"is_ephemeral":true`)
	require.NotContains(t, w.bot.got()[0].form.Get("payload"), `"message":`)

	status, _, _ := raw(t, d.ResponseURL, "application/json", `{"replace_original":true,"text":"done"}`)
	require.Equal(t, 200, status)
	require.Equal(t, "done", w.Ephemerals("ann")[0].Plain())
	status, _, _ = raw(t, d.ResponseURL, "application/json", `{"replace_original":true,"response_type":"in_channel","text":"x"}`)
	require.Equal(t, 400, status, "what one person saw stays with that person")
	status, _, _ = raw(t, d.ResponseURL, "application/json", `{"delete_original":true}`)
	require.Equal(t, 200, status)
	require.True(t, w.Ephemerals("ann")[0].Gone)
}

func TestReplayAndForge(t *testing.T) {
	t.Parallel()
	w := start(t)
	d, err := w.Click(t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: w.card(t), Button: "Deny"})
	require.NoError(t, err)
	w.clock.Advance(time.Minute)
	_, err = w.Replay(t.Context(), d)
	require.NoError(t, err)
	_, err = w.Forge(t.Context(), d)
	require.NoError(t, err)
	got := w.bot.got()
	require.Equal(t, got[0].body, got[1].body)
	require.Equal(t, got[0].header, got[1].header)
	require.Equal(t, got[0].body, got[2].body)
	require.NotEqual(t, signature(got[2]), got[2].header.Get("X-Slack-Signature"))
}

func TestCommandSendsFormFields(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.bot.will(200, "working on it")
	d, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "deny 203.0.113.7 for=4h"})
	require.NoError(t, err)
	got := w.bot.got()[0]
	require.Equal(t, "/slack/commands", got.path)
	require.Equal(t, signature(got), got.header.Get("X-Slack-Signature"))
	for key, value := range map[string]string{
		"command": "/waf", "text": "deny 203.0.113.7 for=4h", "user_id": "U1ANN", "user_name": "ann", "team_id": "T0SANDBOX",
		"team_domain": "sandbox", "channel_id": "C1WAF", "channel_name": "waf", "api_app_id": "A0WAFBOT",
		"is_enterprise_install": "false", "response_url": d.ResponseURL,
	} {
		require.Equal(t, value, got.form.Get(key))
	}
	require.NotEmpty(t, got.form.Get("trigger_id"))
	require.Equal(t, "working on it", w.Ephemerals("ann")[0].Plain())

	w.bot.will(200, `{"response_type":"in_channel","text":"for all"}`)
	_, err = w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf"})
	require.NoError(t, err)
	require.Equal(t, "for all", w.Messages("#waf")[0].Plain())
	_, err = w.Command(t.Context(), workspace.Command{User: "bob", Channel: "#ours"})
	require.Error(t, err, "bob isn't in there")
}

func TestBadAcknowledgementsAreWarnings(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.bot.will(500, "oops")
	d, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
	require.NoError(t, err)
	require.Equal(t, "the app answered 500", d.Warning)
	require.Empty(t, w.Ephemerals("ann"))
	w.DeliverTo("http://127.0.0.1:1") // nothing listens there
	d, err = w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
	require.NoError(t, err)
	require.Equal(t, "the app did not respond", d.Warning)
	require.NotEmpty(t, d.Err)
	w.DeliverTo("")
	d, err = w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
	require.NoError(t, err)
	require.Equal(t, "the app did not respond", d.Warning)
	require.Equal(t, "no link is open", d.Err, "without an address everything goes over links")
	require.NoError(t, w.SetIngress(workspace.IngressHTTP))
	_, err = w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
	require.ErrorContains(t, err, "no address")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLateAcknowledgementIsAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := roundTrip(func(*http.Request) (*http.Response, error) {
			<-time.After(3*time.Second + time.Millisecond)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
		})
		w, err := workspace.New(workspace.Config{
			Deliver: "http://bot.example", HTTP: &http.Client{Transport: late},
			Users: []workspace.User{{ID: "U1ANN", Name: "ann"}}, Channels: []workspace.Channel{{ID: "C1WAF", Name: "waf"}},
		})
		require.NoError(t, err)
		d, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "waf"})
		require.NoError(t, err)
		require.Equal(t, "the app took longer than 3 seconds", d.Warning)
	})
}

func TestVerifyURL(t *testing.T) {
	t.Parallel()
	w := start(t)
	d, err := w.VerifyURL(t.Context())
	require.NoError(t, err)
	require.Contains(t, d.Warning, "challenge")
	got := w.bot.got()[0]
	require.Equal(t, "/slack/events", got.path)
	require.Equal(t, signature(got), got.header.Get("X-Slack-Signature"))

	echo := start(t, func(cfg *workspace.Config) {
		cfg.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			var body struct{ Challenge string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Challenge == "" {
				return nil, errors.New("no challenge")
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body.Challenge))}, nil
		})}
	})
	d, err = echo.VerifyURL(t.Context())
	require.NoError(t, err)
	require.Empty(t, d.Warning)
}
