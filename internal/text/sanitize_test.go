package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/text"
)

// acute is a combining mark of two bytes.
const acute = "\u0301"

// marks is what a path may show of a flood of them, each on the last letter.
var marks = strings.Repeat(acute, 11) + "…"

func TestNothingEndsBeforeItsEnd(t *testing.T) {
	t.Parallel()
	hidden := func(n int) string { return "/login" + strings.Repeat(acute, n) + "/hidden-tail.php" }
	for _, tt := range []struct {
		s     string
		limit int
		want  string
	}{
		{hidden(2), 100, hidden(2)},
		{hidden(11), 100, hidden(11)},
		{hidden(12), 100, "/login" + marks + "/hidden-tail.php"},
		{hidden(2_000), 100, "/login" + marks + "/hidden-tail.php"},
		{hidden(2_500), 100, "/logi…"}, // looking on would take as long as an attacker likes
		{hidden(2_500), 1_000, "/login" + marks + "/hidden-tail.php"},
		{hidden(100_000), 1_000, "/logi…"},
		{"/login" + strings.Repeat(acute, 2_500), 1_000, "/login" + marks},
		{"/login" + acute + acute, 6, "/logi…"},
		{"/login" + acute + acute, 7, "/logi…"},
		{"/login" + acute + acute, 8, "/login" + acute + acute},
		{strings.Repeat("日", 1_999) + "x", 8, strings.Repeat("日", 7) + "…"},
		{"a" + strings.Repeat("\u20dd", 3_000) + "b", 20, "…"},
	} {
		require.Equal(t, tt.want, text.Sanitize(tt.s, tt.limit), "%d characters to %d", utf8.RuneCountInString(tt.s), tt.limit)
	}
}

// written is what stands for a character that can't be shown.
func written(s string) string {
	var b strings.Builder
	for i, r := range s {
		_, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == '\u202e' || r == '\u200d':
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// What is shown without "…" is all that there is; what is shown is as long as it may be, and what stands before the first "…" is the beginning.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "/", "é", "日", "🙂", acute, strings.Repeat(acute, 9), strings.Repeat(acute, 600), "\u202e", "\u200d", "\x00", "\xff", "\xcc"}), 0, 40).Draw(t, "pieces")
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		s := strings.Join(pieces, "")
		shown, all := text.Fit(s, limit)
		require.Equal(t, shown, text.Sanitize(s, limit))
		require.True(t, utf8.ValidString(shown))
		require.LessOrEqual(t, text.Length(shown), limit)
		begun, _, cut := strings.Cut(shown, "…")
		require.True(t, strings.HasPrefix(written(s), begun), "%q of %q", begun, s)
		if !cut {
			require.True(t, all)
			require.Equal(t, written(s), shown)
		}
	})
}

// Parts of a text put together are the text, and a mark stays with its letter.
func TestFirst(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ab", text.First("abc", 2))
	require.Equal(t, "a", text.First("ae"+acute+"c", 2))
	require.Equal(t, "ae"+acute, text.First("ae"+acute+"c", 3))
	require.Equal(t, "a", text.First("a🙂", 2))
	require.Equal(t, "e"+acute, text.First("e"+acute+acute+acute, 2), "there is nothing else")
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\nb\x00": `a\x0ab\x00`, "\u202eabc": `\u{202e}abc`, "\xff": `\xff`, "a\u200bb": `a\u{200b}b`, "tab\t": `tab\x09`, "é": "é",
	} {
		require.Equal(t, want, text.Sanitize(in, 60))
	}
	require.Equal(t, "abcd…", text.Sanitize("abcdefgh", 5))
	require.Equal(t, "abcde", text.Sanitize("abcde", 5))
	require.LessOrEqual(t, utf8.RuneCountInString(text.Sanitize("e"+strings.Repeat("\u0301", 500), 60)), 60)
}
