package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestWhatSlackMakesOfTypedText(t *testing.T) {
	t.Parallel()
	w := start(t)
	for typed, want := range map[string]string{
		"a < b & c > d":                           "a &lt; b &amp; c &gt; d",
		"@wafbot status":                          "<@U0WAFBOT> status",
		"ask @ann, or (@bob). @ann's":             "ask <@U1ANN>, or (<@U2BOB>). <@U1ANN>'s",
		"to=@ann @nobody a@ann":                   "to=<@U1ANN> @nobody a@ann",
		"<@U1ANN>":                                "&lt;@U1ANN&gt;",
		"@here @channel @everyone @secops":        "<!here> <!channel> <!everyone> <!subteam^S1SEC|@secops>",
		"in #waf, #nowhere":                       "in <#C1WAF|waf>, #nowhere",
		"https://shop.example.com/a?b=1&c=2.":     "<https://shop.example.com/a?b=1&amp;c=2>.",
		"patch POST shop.example.com/login":       "patch POST <http://shop.example.com/login|shop.example.com/login>",
		"Shop.Example.COM:8080/x, and cdn.de":     "<http://Shop.Example.COM:8080/x|Shop.Example.COM:8080/x>, and <http://cdn.de|cdn.de>",
		"part=get.id part=get.q list.txt":         "part=<http://get.id|get.id> part=get.q list.txt",
		"deny 203.0.113.7 198.51.100.0/24 for=4h": "deny 203.0.113.7 198.51.100.0/24 for=4h",
		"mail ann.b@example.com!":                 "mail <mailto:ann.b@example.com|ann.b@example.com>!",
		"`@ann shop.example.com <b>`":             "`@ann shop.example.com &lt;b&gt;`",
		"```\nshop.example.com\n``` @ann":         "```\nshop.example.com\n``` <@U1ANN>",
		"_shop.example.com a.community":           "_shop.example.com a.community",
	} {
		require.Equal(t, want, w.say(t, "ann", "#waf", typed).Text)
	}
}

func TestWhatSlackMakesOfACommand(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "handover to=@ann #waf shop.example.com/login https://a.example/ a&b"})
	require.NoError(t, err)
	require.Equal(t, "handover to=<@U1ANN|ann> <#C1WAF|waf> <http://shop.example.com/login|shop.example.com/login> <https://a.example/> a&amp;b",
		w.bot.got()[0].form.Get("text"))
}

func TestPeopleSpeakWhereTheyAre(t *testing.T) {
	t.Parallel()
	w := start(t)
	first := w.say(t, "ann", "#waf", "first")
	require.NotEmpty(t, first.ClientMsgID)
	reply, err := w.Say(workspace.Saying{User: "bob", Channel: "#waf", ThreadTS: first.TS, Text: "reply"})
	require.NoError(t, err)
	require.Equal(t, first.TS, reply.ThreadTS)
	alone := w.say(t, "ann", "", "alone with you")
	direct, err := w.Direct("ann")
	require.NoError(t, err)
	require.Equal(t, alone.Channel, direct.ID)
	require.Regexp(t, `^D`, direct.ID)
	require.Equal(t, alone.TS, w.Messages(direct.ID)[0].TS)

	for _, s := range []workspace.Saying{
		{User: "nobody", Channel: "#waf", Text: "x"},
		{User: "nobody", Text: "x"},
		{User: "wafbot", Text: "x"},
		{User: "ann", Channel: "#nowhere", Text: "x"},
		{User: "ann", Channel: "#old", Text: "archived"},
		{User: "bob", Channel: "#ours", Text: "not in there"},
		{User: "bob", Channel: direct.ID, Text: "not in there"},
		{User: "ann", Channel: "#waf", Text: " "},
		{User: "ann", Channel: "#waf", ThreadTS: reply.TS, Text: "a reply begins no thread"},
		{User: "ann", Channel: "#waf", ThreadTS: "1.000001", Text: "no such thread"},
	} {
		_, err := w.Say(s)
		require.Error(t, err, "%+v", s)
	}
	require.Error(t, w.Edit("bob", "#waf", first.TS, "not his"))
	require.Error(t, w.Edit("ann", "#waf", first.TS, ""))
	require.NoError(t, w.Edit("ann", "#waf", first.TS, "better"))
	require.Equal(t, "better", w.Messages("#waf")[0].Text)
	require.Equal(t, 1, w.Messages("#waf")[0].Edited)
}

func TestEphemeralAnswersInThreadsAndAlone(t *testing.T) {
	t.Parallel()
	w := start(t)
	first := w.say(t, "ann", "#waf", "@wafbot status")
	alone := w.say(t, "ann", "", "status")
	postEphemeral := func(channel, user, thread string) string {
		_, _, body := raw(t, w.base+"/api/chat.postEphemeral", "application/json",
			`{"channel":"`+channel+`","user":"`+user+`","text":"for you","thread_ts":"`+thread+`"}`)
		return body
	}
	require.Contains(t, postEphemeral("C1WAF", "U1ANN", first.TS), `"ok":true`)
	require.Contains(t, postEphemeral(alone.Channel, "U1ANN", alone.TS), `"ok":true`)
	require.Contains(t, postEphemeral(alone.Channel, "U1ANN", ""), `"ok":true`)
	require.Contains(t, postEphemeral(alone.Channel, "U2BOB", ""), "user_not_in_channel")
	require.Contains(t, postEphemeral("C1WAF", "U1ANN", "1.000001"), "thread_not_found")
	shown := w.Ephemerals("ann")
	require.Equal(t, []string{first.TS, alone.TS, ""}, []string{shown[0].ThreadTS, shown[1].ThreadTS, shown[2].ThreadTS})
	require.Empty(t, w.Ephemerals("bob"))
}
