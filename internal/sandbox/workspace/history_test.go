package workspace_test

import (
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	w := start(t)
	metadata := slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "card", EventPayload: map[string]any{"id": "d1"}})
	var ts []string
	for _, text := range []string{"one", "two", "three", "four"} {
		w.clock.Advance(time.Second)
		ts = append(ts, w.post(t, "C1WAF", slack.MsgOptionText(text, false), metadata))
	}
	w.post(t, "C1WAF", slack.MsgOptionText("reply", false), slack.MsgOptionTS(ts[3]))
	w.post(t, "C1WAF", slack.MsgOptionText("broadcast", false), slack.MsgOptionTS(ts[3]), slack.MsgOptionBroadcast())
	history := func(p slack.GetConversationHistoryParameters) (*slack.GetConversationHistoryResponse, []string) {
		p.ChannelID = "C1WAF"
		got, err := w.client.GetConversationHistoryContext(t.Context(), &p)
		require.NoError(t, err)
		var texts []string
		for _, m := range got.Messages {
			texts = append(texts, m.Text)
		}
		return got, texts
	}

	got, texts := history(slack.GetConversationHistoryParameters{})
	require.Equal(t, []string{"broadcast", "four", "three", "two", "one"}, texts)
	require.Equal(t, 2, got.Messages[1].ReplyCount)
	require.Equal(t, "B0WAFBOT", got.Messages[1].BotID)
	require.Equal(t, "card", got.Messages[1].Metadata.EventType)
	require.Empty(t, got.Messages[1].Metadata.EventPayload, "only the type without the flag")
	got, _ = history(slack.GetConversationHistoryParameters{IncludeAllMetadata: true})
	require.Equal(t, "d1", got.Messages[1].Metadata.EventPayload["id"])

	_, texts = history(slack.GetConversationHistoryParameters{Oldest: ts[1], Latest: ts[3]})
	require.Equal(t, []string{"three"}, texts)
	_, texts = history(slack.GetConversationHistoryParameters{Oldest: ts[1], Latest: ts[3], Inclusive: true})
	require.Equal(t, []string{"four", "three", "two"}, texts)
	_, texts = history(slack.GetConversationHistoryParameters{Oldest: "1795000003"})
	require.Equal(t, []string{"broadcast", "four"}, texts, "the third came exactly then")

	var all []string
	cursor, pages := "", 0
	for more := true; more; pages++ {
		got, texts = history(slack.GetConversationHistoryParameters{Limit: 2, Cursor: cursor})
		all = append(all, texts...)
		cursor, more = got.ResponseMetaData.NextCursor, got.HasMore
	}
	require.Equal(t, []string{"broadcast", "four", "three", "two", "one"}, all)
	require.Equal(t, 3, pages)

	got, _ = history(slack.GetConversationHistoryParameters{Limit: 2})
	for _, gone := range []string{ts[3], ts[2]} {
		_, _, err := w.client.DeleteMessageContext(t.Context(), "C1WAF", gone)
		require.NoError(t, err)
	}
	_, texts = history(slack.GetConversationHistoryParameters{Limit: 1, Cursor: got.ResponseMetaData.NextCursor})
	require.Equal(t, []string{"two"}, texts, "a page begins after what was deleted meanwhile")
	got, _ = history(slack.GetConversationHistoryParameters{Limit: 2})
	require.Equal(t, "tombstone", got.Messages[1].SubType, "of what began a thread something is left")
}

func TestReplies(t *testing.T) {
	t.Parallel()
	w := start(t)
	parent := w.post(t, "C1WAF", slack.MsgOptionText("parent", false))
	w.post(t, "C1WAF", slack.MsgOptionText("one", false), slack.MsgOptionTS(parent))
	w.post(t, "C1WAF", slack.MsgOptionText("elsewhere", false))
	two := w.post(t, "C1WAF", slack.MsgOptionText("two", false), slack.MsgOptionTS(parent))
	replies := func(p slack.GetConversationRepliesParameters) (texts []string, cursor string) {
		p.ChannelID, p.Timestamp = "C1WAF", parent
		messages, _, cursor, err := w.client.GetConversationRepliesContext(t.Context(), &p)
		require.NoError(t, err)
		for _, m := range messages {
			texts = append(texts, m.Text)
		}
		return texts, cursor
	}
	texts, cursor := replies(slack.GetConversationRepliesParameters{Limit: 2})
	require.Equal(t, []string{"parent", "one"}, texts)
	texts, cursor = replies(slack.GetConversationRepliesParameters{Limit: 2, Cursor: cursor})
	require.Equal(t, []string{"two"}, texts)
	require.Empty(t, cursor)
	texts, _ = replies(slack.GetConversationRepliesParameters{Oldest: two, Inclusive: true})
	require.Equal(t, []string{"parent", "two"}, texts, "the parent always comes along")

	_, _, err := w.client.DeleteMessageContext(t.Context(), "C1WAF", parent)
	require.NoError(t, err)
	texts, _ = replies(slack.GetConversationRepliesParameters{})
	require.Equal(t, []string{"This message was deleted.", "one", "two"}, texts, "replies outlive their parent, of which a tombstone is left")
	_, _, _, err = w.client.GetConversationRepliesContext(t.Context(), &slack.GetConversationRepliesParameters{ChannelID: "C1WAF", Timestamp: "1.000001"})
	refused(t, "thread_not_found", err)
}

func TestHistoryRefuses(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.Scopes = []string{"chat:write", "channels:history"} })
	history := func(p slack.GetConversationHistoryParameters) error {
		_, err := w.client.GetConversationHistoryContext(t.Context(), &p)
		return err
	}
	refused(t, "not_in_channel", history(slack.GetConversationHistoryParameters{ChannelID: "C2NOBOT"}))
	refused(t, "channel_not_found", history(slack.GetConversationHistoryParameters{ChannelID: "G3PRIV"}))
	refused(t, "channel_not_found", history(slack.GetConversationHistoryParameters{ChannelID: "waf"}))
	refused(t, "invalid_ts_oldest", history(slack.GetConversationHistoryParameters{ChannelID: "C1WAF", Oldest: "yesterday"}))
	refused(t, "invalid_cursor", history(slack.GetConversationHistoryParameters{ChannelID: "C1WAF", Cursor: "x"}))
	err := history(slack.GetConversationHistoryParameters{ChannelID: "G4OURS"})
	refused(t, "missing_scope", err)
	var refusal slack.SlackErrorResponse
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "groups:history", refusal.Needed)
	require.Equal(t, "chat:write,channels:history", refusal.Provided)
}
