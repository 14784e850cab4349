package bot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTyped(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"deny 203.0.113.7 for=4h": "deny 203.0.113.7 for=4h",
		"patch POST <http://shop.example.com/login|shop.example.com/login> type=sqli": "patch POST shop.example.com/login type=sqli",
		"patch POST <https://shop.example.com/login> type=sqli":                       "patch POST https://shop.example.com/login type=sqli",
		"note \"ask <mailto:ann@example.com|ann@example.com>\"":                       `note "ask ann@example.com"`,
		"handover to=<@U0ANN0001|ann>":                                                "handover to=<@U0ANN0001>",
		"handover to=<@U0ANN0001>":                                                    "handover to=<@U0ANN0001>",
		"note see <#C0SECRET|>":                                                       "note see <#C0SECRET|>", // a channel that the bot can't see
		"note see <#C0WAF|waf>":                                                       "note see #waf",
		"note <!here> <!subteam^S0ONCALL>":                                            "note <!here> <!subteam^S0ONCALL>",
		"indicator X-A &lt;b&gt;&amp;amp;":                                            "indicator X-A <b>&amp;",
		"note &lt;@U0ANN0001&gt; a < b":                                               "note <@U0ANN0001> a < b",
		"":                                                                            "",
	} {
		require.Equal(t, want, typed(sent), sent)
	}
}

func TestLineOfAMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		line      string
		addressed bool
	}{
		"<@U0BOT> deny 203.0.113.7":            {"deny 203.0.113.7", true},
		"  <@U0BOT|wafbot>   status":           {"status", true},
		"<@U0BOT>":                             {"", true},
		"<@U0BOT> `undo c7k2m9xw4`":            {"undo c7k2m9xw4", true},
		"<@U0BOT> note \"`x` and `y`\"":        {"note \"`x` and `y`\"", true},
		"don't <@U0BOT> deny 203.0.113.7":      {"don't <@U0BOT> deny 203.0.113.7", false},
		"<@U0BOTTLE> deny 203.0.113.7":         {"<@U0BOTTLE> deny 203.0.113.7", false},
		"&lt;@U0BOT&gt; deny 203.0.113.7":      {"<@U0BOT> deny 203.0.113.7", false}, // typed by hand: no mention
		"> <@U0BOT> deny 203.0.113.7 (quoted)": {"> <@U0BOT> deny 203.0.113.7 (quoted)", false},
		"status":                               {"status", false},
	} {
		line, addressed := message{Text: text}.line("U0BOT")
		require.Equal(t, want.line, line, text)
		require.Equal(t, want.addressed, addressed, text)
	}
}
