package workspace_test

import (
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestWhatMakesAPhoneRing(t *testing.T) {
	t.Parallel()
	markup := func(text string) slack.MsgOption {
		return slack.MsgOptionBlocks(slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil))
	}
	plainly := slack.MsgOptionBlocks(slack.NewSectionBlock(plain("<@U1ANN>"), nil, nil))
	rich := slack.MsgOptionBlocks(slack.NewRichTextBlock("r", slack.NewRichTextSection(slack.NewRichTextSectionUserElement("U1ANN", nil))))
	attached := slack.MsgOptionAttachments(slack.Attachment{Blocks: slack.Blocks{BlockSet: []slack.Block{
		slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, "<@U1ANN>", false, false), nil, nil),
	}}})
	for name, test := range map[string]struct {
		say      []slack.MsgOption
		ann, bob string
	}{
		"a mention":                {[]slack.MsgOption{slack.MsgOptionText("<@U1ANN> look", false)}, "mention", ""},
		"a mention with its name":  {[]slack.MsgOption{markup("<@U1ANN|ann> look")}, "mention", ""},
		"in rich text":             {[]slack.MsgOption{rich}, "mention", ""},
		"a group":                  {[]slack.MsgOption{markup("<!subteam^S1SEC> look")}, "group", ""},
		"here":                     {[]slack.MsgOption{markup("<!here> look")}, "everyone", "everyone"},
		"nobody":                   {[]slack.MsgOption{markup("look")}, "", ""},
		"only in the text":         {[]slack.MsgOption{slack.MsgOptionText("<@U1ANN>", false), markup("look")}, "", ""},
		"in what is no markup":     {[]slack.MsgOption{plainly}, "", ""},
		"only in an attachment":    {[]slack.MsgOption{slack.MsgOptionText("x", false), attached}, "", ""},
		"escaped, as by strangers": {[]slack.MsgOption{slack.MsgOptionText("<!channel>", true)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.post(t, "C1WAF", test.say...)
			require.Equal(t, test.ann, w.Notices("ann")[0].Why)
			require.Equal(t, test.bob, w.Notices("bob")[0].Why)
		})
	}
}

func TestEditsNotifyNoPhoneAndFollowedThreadsDo(t *testing.T) {
	t.Parallel()
	w := start(t)
	ts := w.post(t, "C1WAF", slack.MsgOptionText("a card", false))
	_, _, _, err := w.client.UpdateMessageContext(t.Context(), "C1WAF", ts, slack.MsgOptionText("<@U1ANN> worse", false))
	require.NoError(t, err)
	reply := func() string { return w.post(t, "C1WAF", slack.MsgOptionText("news", false), slack.MsgOptionTS(ts)) }
	before := reply()
	_, err = w.Say(workspace.Saying{User: "ann", Channel: "#waf", ThreadTS: ts, Text: "I look"})
	require.NoError(t, err)
	after := reply()
	w.post(t, "U1ANN", slack.MsgOptionText("psst", false))
	gone := w.post(t, "C1WAF", slack.MsgOptionText("gone", false))
	require.NoError(t, w.Delete("bob", "#waf", gone))

	notices := w.Notices("ann")
	for i := range notices {
		notices[i].User = ""
	}
	require.Equal(t, []workspace.Notice{
		{Channel: "C1WAF", TS: ts, Text: "a card", Edits: 1},
		{Channel: "C1WAF", TS: before, ThreadTS: ts, Text: "news"},
		{Channel: "C1WAF", TS: after, ThreadTS: ts, Text: "news", Why: "thread"},
		{Channel: "D1ANN", TS: notices[3].TS, Text: "psst", Why: "direct"},
	}, notices)
	require.Len(t, w.Notices("bob"), 4, "ann's reply, and not what only she sees")
	require.Empty(t, w.Notices("nobody"))
}
