package text_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/text"
)

// hostileWords are what a stranger writes to have it read as more than characters.
func hostileWords() []string {
	words := []string{
		"[link](http://evil.example)", "[link][1]", "[1]: http://evil.example", "![image](//evil.example/x.png)", "<http://evil.example>", "http://evil.example",
		"HTTPS://evil.example", "javascript:alert(1)", "mailto:a@evil.example", "www.evil.example", "WWW.evil.example", "evil.example", "a@evil.example", "xmpp:a@b.c",
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "-->", "</details>", "&lt;b&gt;", "&#x3c;", "&copy",
		"# heading", "#", "## x", "=====", "-----", "***", "___", "* * *", "- item", "+ item", "1. one", "1) one", "> quote", "    code", "\tcode", "```", "~~~", "``", "`", "`a``b`",
		"| a | b |", "|---|---|", ":--|--:", "*b*", "**b**", "_i_", "__b__", "~~s~~", "==m==", "^x^", "$x$", "$$", "\\(x\\)", "{{x}}", "{% x %}", "@everyone", "@org/team", "#1", "org/repo#1",
		"GH-1", ":skull:", "[x]", "[^1]", "[[wiki]]", "\\", "\\`", "a\nb", "a\r\nb", "a\u2028b", "a\u0085b", "x\u202egnp.exe", "\x00\x1b[31m", "\xff\xfe", strings.Repeat("`", 99), "a\\\nb",
	}
	for _, sample := range hostiletext.Samples() {
		words = append(words, sample.Text)
	}
	return words
}

var codeSpan = regexp.MustCompile("`[^`]+`")

// requireHarmless holds that outside of code a document has nothing but what the report itself writes: words, bold,
// headings and items.
func requireHarmless(t require.TestingT, doc string) {
	for line := range strings.Lines(doc) {
		line = strings.TrimSuffix(line, "\n")
		require.False(t, strings.Contains(line, "``"), "code that begins elsewhere: %q", line)
		rest := codeSpan.ReplaceAllString(line, "°")
		rest = regexp.MustCompile(`^(#{1,2} | *- )`).ReplaceAllString(rest, "")
		require.NotRegexp(t, `^([-+=]+|\d+[.)])( |$)`, rest, "%q", line)
		rest = regexp.MustCompile(`\*\*([^*]+)\*\*`).ReplaceAllString(rest, "$1")
		require.NotRegexp(t, "[`*<>\\[\\]\\\\|~$&#@{}^\r\t]", rest, "%q", line)
		require.NotRegexp(t, `(?i)www\.|:/|:[a-z]|\.[a-z]`, rest, "%q", line)
		require.NotRegexp(t, `(^|[^\pL\pN_])_|_([^\pL\pN_]|$)`, rest, "%q", line)
	}
}

func TestHostileTextIsTextInMarkdown(t *testing.T) {
	t.Parallel()
	for _, word := range full.Some(20, hostileWords()) {
		for _, line := range []text.Text{
			text.New(word), text.New(text.Code(word)), text.New(text.Bold(word)), text.New(text.User(word)), text.New(text.Channel(word)),
			text.New("before ", word, " after"), text.New("x", text.Code(word), word, text.Code(word)), text.New(text.Bold("b"), text.Bold(word)),
		} {
			got := line.Markdown(time.UTC)
			require.NotContains(t, got, "\n", "%q", word)
			requireHarmless(t, got)
		}
	}
	for _, pieces := range [][]any{{":", "/path"}, {"https:", "//x"}, {"www", ".x"}, {text.Bold("www"), ".", "x"},
		{"a.", text.Bold("b")}} {
		requireHarmless(t, text.New(pieces...).Markdown(time.UTC)) // side by side they would be more than each is
	}
}

func TestAnyTextIsTextInMarkdown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom(hostileWords()), rapid.String(), rapid.SampledFrom([]string{" ", "", "a", "(", "`"}))
		var line text.Text
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			s := piece.Draw(t, "text")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				line = text.New(line, s)
			case 1:
				line = text.New(line, text.Code(s))
			default:
				line = text.New(line, text.Bold(s))
			}
		}
		got := line.Markdown(time.UTC)
		if strings.ContainsAny(got, "\n\r") {
			t.Fatalf("%q has a second line", got)
		}
		requireHarmless(t, got)
	})
}

func TestMarkdownOfALine(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 3600)
	at := time.Date(2026, 11, 20, 3, 0, 5, 0, time.UTC)
	for want, line := range map[string]text.Text{
		"plain text, 79 % of 1,530 (14) at 03:10; and/or \"so\": yes.": text.New("plain text, 79 % of 1,530 (14) at 03:10; and/or \"so\": yes."),
		"2026-11-20 04:00:05 CET":                                      text.New(at),
		"`deny 203.0.113.7` by **Ann**":                                text.New(text.Code("deny 203.0.113.7"), " by ", text.Bold("Ann")),
		"see (`http://x.example/a`), please":                           text.New("see (http://x.example/a), please"),
		"`a` `b`":                                                      text.New(text.Code("a"), text.Code("b")),
		"mode safe_blocking of `_x_`":                                  text.New("mode safe_blocking of _x_"),
		"`U1ANN` in `C1`":                                              text.New(text.User("U1ANN"), " in ", text.Channel("C1")),
		"`it's 'code'`":                                                text.New(text.Code("it's `code`")),
		"`1`. and 1. later":                                            text.New("1. and 1. later"),
		"Zürich – 東京 · ok":                                             text.New("Zürich – 東京 · ok"),
		"`:--|--`: skull. com":                                         text.New(":--|--:", "skull", ".", "com"),
		"NOT `*done*`":                                                 text.New(text.Bold("NOT *done*")),
	} {
		require.Equal(t, want, line.Markdown(zone))
	}
}

// A line at a terminal only shows what strangers wrote; nothing but a plain piece's own beginning and end breaks it.
func TestHostileTextIsTextAtATerminal(t *testing.T) {
	t.Parallel()
	for _, sample := range full.Some(12, hostiletext.Samples()) {
		words := sample.Text
		line := text.New("x", strings.Trim(words, "\n"), text.Code(words), text.Bold(words), text.User(words), text.Channel(words), text.Link{Label: words, URL: words + "x"}, "y").In(time.UTC)
		require.NoError(t, hostiletext.Plain(line), sample.Purpose)
	}
}

// What is written out in JSON is the same to whatever reads it.
func TestHostileTextIsTheSameInJSON(t *testing.T) {
	t.Parallel()
	for _, sample := range full.Some(12, hostiletext.Samples()) {
		words, err := json.MarshalIndent(map[string]string{"a": sample.Text, sample.Text: "b"}, "", "  ")
		require.NoError(t, err)
		seen := text.SanitizeJSON(words)
		require.NoError(t, hostiletext.Lines(string(seen), hostiletext.Plain), sample.Purpose)
		require.JSONEq(t, string(words), string(seen), sample.Purpose)
	}
}

// The longest hostile document: a report on an attack in which a stranger wrote each word.
func TestAHostileReportIsHarmless(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../commands/testdata/report-hostile.md")
	require.NoError(t, err)
	requireHarmless(t, string(doc))
}
