package workspace_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestPostRefusesChannelsAsSlackDoes(t *testing.T) {
	t.Parallel()
	w := start(t)
	for channel, name := range map[string]string{
		"C2NOBOT": "not_in_channel", "G3PRIV": "channel_not_found", "C5OLD": "is_archived", "C9NONE": "channel_not_found",
	} {
		_, _, err := w.client.PostMessageContext(t.Context(), channel, slack.MsgOptionText("x", false))
		refused(t, name, err)
	}
	_, _, err := w.client.PostMessageContext(t.Context(), "C1WAF")
	refused(t, "no_text", err)

	id, ts, err := w.client.PostMessageContext(t.Context(), "#waf", slack.MsgOptionText("by name", false))
	require.NoError(t, err)
	require.Equal(t, "C1WAF", id)
	require.Regexp(t, regexp.MustCompile(`^\d{10}\.\d{6}$`), ts)
	id, _, err = w.client.PostMessageContext(t.Context(), "U1ANN", slack.MsgOptionText("to a person", false))
	require.NoError(t, err)
	require.Equal(t, "D1ANN", id)

	require.NoError(t, w.AddBot("#nobot"))
	w.post(t, "C2NOBOT", slack.MsgOptionText("invited", false))
	require.NoError(t, w.SetArchived("#waf", true))
	_, _, err = w.client.PostMessageContext(t.Context(), "C1WAF", slack.MsgOptionText("x", false))
	refused(t, "is_archived", err)
	_, _, _, err = w.client.UpdateMessageContext(t.Context(), "C1WAF", ts, slack.MsgOptionText("x", false))
	refused(t, "is_inactive", err)
}

func TestPublicScopePostsWithoutMembership(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.Scopes = []string{"chat:write", "chat:write.public"} })
	w.post(t, "C2NOBOT", slack.MsgOptionText("x", false))
	_, _, err := w.client.PostMessageContext(t.Context(), "G3PRIV", slack.MsgOptionText("x", false))
	refused(t, "channel_not_found", err)
}

func TestTimestampsNeverRepeat(t *testing.T) {
	t.Parallel()
	w := start(t)
	last := ""
	for range 50 { // the clock stands still
		ts := w.post(t, "C1WAF", slack.MsgOptionText("x", false))
		require.Greater(t, ts, last)
		last = ts
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	w := start(t)
	metadata := slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "card", EventPayload: map[string]any{"id": "d1"}})
	ts := w.post(t, "C1WAF", slack.MsgOptionText("fallback", false), card(), metadata)
	update := func(channel, ts string, options ...slack.MsgOption) error {
		_, _, _, err := w.client.UpdateMessageContext(t.Context(), channel, ts, options...)
		return err
	}

	require.NoError(t, update("C1WAF", ts, slack.MsgOptionText("f", false), slack.MsgOptionBlocks(slack.NewHeaderBlock(plain("new")))))
	m := w.Messages("#waf")[0]
	require.Equal(t, "new", m.Plain())
	require.JSONEq(t, `{"event_type":"card","event_payload":{"id":"d1"}}`, string(m.Metadata), "kept when left out")

	require.NoError(t, update("C1WAF", ts, slack.MsgOptionText("only text", false)))
	m = w.Messages("#waf")[0]
	require.Empty(t, m.Blocks, "text alone removes blocks")
	require.Equal(t, "only text", m.Plain())
	require.Equal(t, 2, m.Edited)

	bar := slack.Attachment{Color: "#a30200", Text: "bar"}
	require.NoError(t, update("C1WAF", ts, slack.MsgOptionText("x", false), slack.MsgOptionAttachments(bar)))
	require.NoError(t, update("C1WAF", ts, slack.MsgOptionText("y", false)))
	require.Equal(t, "y\nbar", w.Messages("#waf")[0].Plain(), "attachments are kept when left out")

	w.say(t, "ann", "#waf", "mine")
	anns := w.Messages("#waf")[1].TS
	refused(t, "cant_update_message", update("C1WAF", anns, slack.MsgOptionText("x", false)))
	refused(t, "message_not_found", update("C1WAF", "1.000001", slack.MsgOptionText("x", false)))
	refused(t, "channel_not_found", update("waf", ts, slack.MsgOptionText("x", false)))
	refused(t, "msg_too_long", update("C1WAF", ts, slack.MsgOptionText(strings.Repeat("ü", 4001), false)))
	refused(t, "invalid_blocks", update("C1WAF", ts, slack.MsgOptionBlocks(slack.NewHeaderBlock(plain("")))))
	_, _, err := w.client.DeleteMessageContext(t.Context(), "C1WAF", anns)
	refused(t, "cant_delete_message", err)
	require.Equal(t, 4, w.Messages("#waf")[0].Edited, "refused updates change nothing")
}

func TestThreads(t *testing.T) {
	t.Parallel()
	w := start(t)
	parent := w.post(t, "C1WAF", slack.MsgOptionText("parent", false))
	reply := w.post(t, "C1WAF", slack.MsgOptionText("reply", false), slack.MsgOptionTS(parent))
	post := func(ts string) error {
		_, _, err := w.client.PostMessageContext(t.Context(), "C1WAF", slack.MsgOptionText("x", false), slack.MsgOptionTS(ts))
		return err
	}
	refused(t, "cannot_reply_to_message", post(reply))
	refused(t, "thread_not_found", post("1700000000.000001"))
	ephemeral, err := w.client.PostEphemeralContext(t.Context(), "C1WAF", "U1ANN", slack.MsgOptionText("psst", false))
	require.NoError(t, err)
	refused(t, "thread_not_found", post(ephemeral))
	require.Equal(t, parent, w.Messages("#waf")[1].ThreadTS)
	anns, err := w.Say(workspace.Saying{User: "ann", Channel: "#waf", ThreadTS: parent, Text: "me too"})
	require.NoError(t, err)
	thread, _, _, err := w.client.GetConversationRepliesContext(t.Context(), &slack.GetConversationRepliesParameters{ChannelID: "C1WAF", Timestamp: parent})
	require.NoError(t, err)
	require.Equal(t, []string{"U0WAFBOT", "U1ANN"}, thread[0].ReplyUsers, "who replied")
	require.Equal(t, "U0WAFBOT", thread[1].ParentUserId)
	require.NoError(t, w.Delete("ann", "#waf", anns.TS))

	_, _, err = w.client.DeleteMessageContext(t.Context(), "C1WAF", parent)
	require.NoError(t, err)
	require.Len(t, w.Messages("#waf"), 1, "replies stay")
	_, _, err = w.client.DeleteMessageContext(t.Context(), "C1WAF", parent)
	refused(t, "message_not_found", err)

	w.post(t, "C1WAF", slack.MsgOptionText("more", false), slack.MsgOptionTS(parent))
	require.Equal(t, parent, w.Messages("#waf")[1].ThreadTS, "the thread is still there")
}

func TestAReplyToWhatWasDeletedGoesToTheChannel(t *testing.T) {
	t.Parallel()
	w := start(t)
	parent := w.post(t, "C1WAF", slack.MsgOptionText("card", false), card())
	require.NoError(t, w.Delete("ann", "#waf", parent))
	_, _, _, err := w.client.UpdateMessageContext(t.Context(), "C1WAF", parent, slack.MsgOptionText("x", false))
	refused(t, "message_not_found", err)
	_, _, body := raw(t, w.base+"/api/chat.postMessage", "application/json", `{"channel":"C1WAF","text":"worse","thread_ts":"`+parent+`","reply_broadcast":true}`)
	require.Contains(t, body, `"ok":true`)
	require.NotContains(t, body, "thread_ts", "which alone shows it")
	m := w.Messages("#waf")[0]
	require.Empty(t, m.ThreadTS)
	require.False(t, m.Broadcast)

	require.ErrorContains(t, w.Delete("ann", "#waf", parent), "no message")
	require.ErrorContains(t, w.Delete("bob", "#ours", m.TS), "bob")
	ephemeral, err := w.client.PostEphemeralContext(t.Context(), "C1WAF", "U1ANN", slack.MsgOptionText("psst", false))
	require.NoError(t, err)
	require.Error(t, w.Delete("ann", "#waf", ephemeral))
}

func TestLongTexts(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.post(t, "C1WAF", slack.MsgOptionText(strings.Repeat("ü", 4040), false))
	require.Len(t, w.Messages("#waf"), 1)
	w.post(t, "C1WAF", slack.MsgOptionText(strings.Repeat("ü", 4041), false))
	require.Len(t, w.Messages("#waf"), 3, "a longer one is split")
	w.post(t, "C1WAF", slack.MsgOptionText(strings.Repeat("ü", 40_001), false), card())
	require.Len(t, []rune(w.Messages("#waf")[3].Text), 40_000)
	_, _, body := raw(t, w.base+"/api/chat.postMessage", "application/json", `{"channel":"C1WAF","text":"`+strings.Repeat("ü", 40_001)+`"}`)
	require.Contains(t, body, `"warning":"message_truncated"`)
	require.Contains(t, body, `"response_metadata":{"warnings":["message_truncated"]}`)
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	w := start(t)
	postEphemeral := func(channel, user string) (string, error) {
		return w.client.PostEphemeralContext(t.Context(), channel, user, slack.MsgOptionText("psst", false))
	}
	ts, err := postEphemeral("C1WAF", "U1ANN")
	require.NoError(t, err)
	require.Empty(t, w.Messages("#waf"), "no other user sees it")
	require.Empty(t, w.Ephemerals("bob"))
	require.Equal(t, "psst", w.Ephemerals("ann")[0].Plain())
	_, _, _, err = w.client.UpdateMessageContext(t.Context(), "C1WAF", ts, slack.MsgOptionText("x", false))
	refused(t, "message_not_found", err)
	_, err = postEphemeral("G4OURS", "U2BOB")
	refused(t, "user_not_in_channel", err)
	_, err = postEphemeral("C1WAF", "U9NONE")
	refused(t, "user_not_in_channel", err)
}

func TestPermalink(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.post(t, "C1WAF", slack.MsgOptionText("x", false))
	link, err := w.client.GetPermalinkContext(t.Context(), &slack.PermalinkParameters{Channel: "C1WAF", Ts: ts})
	require.NoError(t, err)
	require.Equal(t, "https://sandbox.slack.com/archives/C1WAF/p"+strings.ReplaceAll(ts, ".", ""), link)
	_, err = w.client.GetPermalinkContext(t.Context(), &slack.PermalinkParameters{Channel: "C1WAF", Ts: "1.000001"})
	refused(t, "message_not_found", err)
}
