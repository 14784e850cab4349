package card

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/text"
)

func TestMrkdwn(t *testing.T) {
	t.Parallel()
	at := time.Unix(1795000000, 0)
	for _, tt := range []struct {
		name string
		text text.Text
		want string
	}{
		{"plain", text.New("1,530 hits, 43 payloads"), "1,530 hits, 43 payloads"},
		{"entities", text.New("a <b> & c"), "a &lt;b&gt; &amp; c"},
		{"entity as text", text.New("&lt;!channel&gt;"), "&amp;lt;!channel&amp;gt;"},
		{"code", text.New("in ", text.Code("a`b*c"), "."), "in `a'b*c`."},
		{"code inside a word", text.New("in", text.Code("a"), "side"), "in `a` side"},
		{"code beside code", text.New(text.Code("a"), text.Code("b")), "`a` `b`"},
		{"bold", text.New(text.Bold("Half done. "), "Rest"), "*Half done.* Rest"},
		{"bold of a stranger", text.New(text.Bold("CDN *x*"), ": fine"), "CDN `*x*`: fine"},
		{"formatting characters", text.New("*b* _i_ ~s~ `c`"), "`*b*` `_i_` `~s~` `'c'`"},
		{"formatting over two pieces", text.New("*", "b", "*"), "`*b*`"},
		{"emoji over bold and plain", text.New(text.Bold("www.x :skull"), ": fine"), "`www.x` `:skull`: fine"},
		{"underscore in a name", text.New("blocked_source"), "blocked_source"},
		{"emoji", text.New(":skull: (:x:)"), "`:skull`: (`:x`:)"},
		{"IPv6", text.New("deny 2001:db8:cafe::7, now"), "deny `2001:db8:cafe::7`, now"},
		{"link", text.New("see https://evil.example/x"), "see `https://evil.example/x`"},
		{"mention", text.New("@here and #general, #12"), "`@here` and `#general`, #12"},
		{"quotation", text.New(">x"), "`&gt;x`"},
		{"line end", text.New("a\nb"), `a\x0ab`},
		{"direction", text.New("a\u202eb"), `a\u{202e}b`},
		{"times of a day", text.New(at, " to ", at.Add(11*time.Hour), ", at most ", at.Add(24*time.Hour), ", since ", at.Add(-time.Minute)),
			"<!date^1795000000^{date_short_pretty} {time}|2026-11-18 11:06 UTC> to <!date^1795039600^{time}|2026-11-18 22:06 UTC>, at most " +
				"<!date^1795086400^{date_short_pretty} {time}|2026-11-19 11:06 UTC>, since <!date^1794999940^{time}|2026-11-18 11:05 UTC>"},
		{"time", text.New("at ", at), "at <!date^1795000000^{date_short_pretty} {time}|2026-11-18 11:06 UTC>"},
		{"clock", text.New("at ", text.Clock(at)), "at <!date^1795000000^{time}|2026-11-18 11:06 UTC>"},
		{"ago", text.New("read ", text.Ago(at)), "read <!date^1795000000^{ago}|2026-11-18 11:06 UTC>"},
		{"time before Slack's", text.New(time.Unix(-5, 0)), "1969-12-31 23:59 UTC"},
		{"user", text.New(text.User("U0ANN0001")), "<@U0ANN0001>"},
		{"user group", text.New(text.User("S0ONCALL")), "<!subteam^S0ONCALL>"},
		{"not a user", text.New(text.User("U1> <!channel")), "`@U1&gt;` &lt;!channel"},
		{"channel", text.New("in ", text.Channel("C0WAF0001"), ", where"), "in <#C0WAF0001>, where"},
		{"not a channel", text.New(text.Channel("C1> <!channel")), "C1&gt; &lt;!channel"},
		{"link to a card", text.New(text.Code("a1"), " ", text.Link{Label: "card", URL: "https://x.slack.com/archives/C1/p1?a=1&b=|<>"}), "`a1` <https://x.slack.com/archives/C1/p1?a=1&amp;b=%7C%3C%3E|card>"},
		{"link that no client opens", text.New(text.Link{Label: "card", URL: "javascript:x"}), "card"},
		{"terminal user", text.New(text.User("cli:root")), "`@cli:root`"},
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
	for name, text := range map[string]text.Text{
		"escapes": text.New(strings.Repeat("&", 100_000)),
		"code":    text.New(text.Code(strings.Repeat("e\u0301", 100_000)), " end"),
		"words":   text.New(strings.Repeat("* ", 50_000)),
		"pieces":  text.New(text.Code(strings.Repeat("x", maxText)), time.Unix(1795000000, 0), text.Bold("end")),
		"twice":   text.New(text.Bold(strings.Repeat("x", 2*maxText)), " and ", text.Bold("more")),
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
		for _, text := range []text.Text{
			text.New(plain, text.Code(code), text.Bold(bold), plain),
			text.New(text.Bold(plain), code, text.Code(bold), text.User(plain), text.Channel(plain), bold, time.Unix(1795000000, 0), code),
			text.New(plain, code, bold), text.New(" ", text.Bold(plain), text.Bold(code)),
		} {
			got := mrkdwn(text)
			require.LessOrEqual(t, len([]rune(got)), maxText)
			requireHarmless(t, got)
		}
	})
}
