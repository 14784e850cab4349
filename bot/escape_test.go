package bot

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
)

func TestMrkdwn(t *testing.T) {
	t.Parallel()
	at := time.Unix(1795000000, 0)
	for _, tt := range []struct {
		name string
		text commands.Text
		want string
	}{
		{"plain", commands.Say("1,530 hits, 43 payloads"), "1,530 hits, 43 payloads"},
		{"entities", commands.Say("a <b> & c"), "a &lt;b&gt; &amp; c"},
		{"entity as text", commands.Say("&lt;!channel&gt;"), "&amp;lt;!channel&amp;gt;"},
		{"code", commands.Say("in ", commands.Code("a`b*c"), "."), "in `a'b*c`."},
		{"code inside a word", commands.Say("in", commands.Code("a"), "side"), "in `a` side"},
		{"code beside code", commands.Say(commands.Code("a"), commands.Code("b")), "`a` `b`"},
		{"bold", commands.Say(commands.Bold("Half done. "), "Rest"), "*Half done.* Rest"},
		{"bold of a stranger", commands.Say(commands.Bold("CDN *x*"), ": fine"), "CDN `*x*`: fine"},
		{"formatting characters", commands.Say("*b* _i_ ~s~ `c`"), "`*b*` `_i_` `~s~` `'c'`"},
		{"formatting over two pieces", commands.Say("*", "b", "*"), "`*b*`"},
		{"emoji over bold and plain", commands.Say(commands.Bold("www.x :skull"), ": fine"), "`www.x` `:skull`: fine"},
		{"underscore in a name", commands.Say("blocked_source"), "blocked_source"},
		{"emoji", commands.Say(":skull: (:x:)"), "`:skull`: (`:x`:)"},
		{"IPv6", commands.Say("deny 2001:db8:cafe::7, now"), "deny `2001:db8:cafe::7`, now"},
		{"link", commands.Say("see https://evil.example/x"), "see `https://evil.example/x`"},
		{"mention", commands.Say("@here and #general, #12"), "`@here` and `#general`, #12"},
		{"quotation", commands.Say(">x"), "`&gt;x`"},
		{"line end", commands.Say("a\nb"), `a\x0ab`},
		{"direction", commands.Say("a\u202eb"), `a\u{202e}b`},
		{"times of a day", commands.Say(at, " to ", at.Add(11*time.Hour), ", at most ", at.Add(24*time.Hour), ", since ", at.Add(-time.Minute)),
			"<!date^1795000000^{date_short_pretty} {time}|2026-11-18 11:06 UTC> to <!date^1795039600^{time}|2026-11-18 22:06 UTC>, at most " +
				"<!date^1795086400^{date_short_pretty} {time}|2026-11-19 11:06 UTC>, since <!date^1794999940^{time}|2026-11-18 11:05 UTC>"},
		{"time", commands.Say("at ", at), "at <!date^1795000000^{date_short_pretty} {time}|2026-11-18 11:06 UTC>"},
		{"clock", commands.Say("at ", commands.Clock(at)), "at <!date^1795000000^{time}|2026-11-18 11:06 UTC>"},
		{"ago", commands.Say("read ", commands.Ago(at)), "read <!date^1795000000^{ago}|2026-11-18 11:06 UTC>"},
		{"time before Slack's", commands.Say(time.Unix(-5, 0)), "1969-12-31 23:59 UTC"},
		{"user", commands.Say(commands.User("U0ANN0001")), "<@U0ANN0001>"},
		{"user group", commands.Say(commands.User("S0ONCALL")), "<!subteam^S0ONCALL>"},
		{"not a user", commands.Say(commands.User("U1> <!channel")), "`@U1&gt;` &lt;!channel"},
		{"channel", commands.Say("in ", commands.Channel("C0WAF0001"), ", where"), "in <#C0WAF0001>, where"},
		{"not a channel", commands.Say(commands.Channel("C1> <!channel")), "C1&gt; &lt;!channel"},
		{"link to a card", commands.Say(commands.Code("a1"), " ", commands.Link{Label: "card", URL: "https://x.slack.com/archives/C1/p1?a=1&b=|<>"}), "`a1` <https://x.slack.com/archives/C1/p1?a=1&amp;b=%7C%3C%3E|card>"},
		{"link that nobody opens", commands.Say(commands.Link{Label: "card", URL: "javascript:x"}), "card"},
		{"terminal user", commands.Say(commands.User("cli:root")), "`@cli:root`"},
		{"nothing", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mrkdwn(tt.text)
			require.Equal(t, tt.want, got)
			requireHarmless(t, got)
		})
	}
}

func TestMrkdwnIsCutToFit(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]commands.Text{
		"escapes": commands.Say(strings.Repeat("&", 100_000)),
		"code":    commands.Say(commands.Code(strings.Repeat("e\u0301", 100_000)), " end"),
		"words":   commands.Say(strings.Repeat("* ", 50_000)),
		"pieces":  commands.Say(commands.Code(strings.Repeat("x", maxText)), time.Unix(1795000000, 0), commands.Bold("end")),
		"twice":   commands.Say(commands.Bold(strings.Repeat("x", 2*maxText)), " and ", commands.Bold("more")),
	} {
		got := mrkdwn(text)
		require.NotContains(t, got, "……", name)
		require.LessOrEqual(t, len([]rune(got)), maxText, name)
		require.Contains(t, got, "…", name)
		requireHarmless(t, got)
	}
}

func FuzzMrkdwn(f *testing.F) {
	for _, s := range seeds("*b*", "_i_ `c`", "_", "* *", "a_ _b") {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, plain, code, bold string) {
		for _, text := range []commands.Text{
			commands.Say(plain, commands.Code(code), commands.Bold(bold), plain),
			commands.Say(commands.Bold(plain), code, commands.Code(bold), commands.User(plain), commands.Channel(plain), bold, time.Unix(1795000000, 0), code),
			commands.Say(plain, code, bold), commands.Say(" ", commands.Bold(plain), commands.Bold(code)),
		} {
			got := mrkdwn(text)
			require.LessOrEqual(t, len([]rune(got)), maxText)
			requireHarmless(t, got)
		}
	})
}
