package pire_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/sandbox/pire"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"sqlmap/1[.][0-9]", "sqlmap/1.7", true},
		{"sqlmap/1[.][0-9]", "sqlmap/1x7", false},
		{"^sqlmap", "xsqlmap", false},
		{"map$", "sqlmap", true},
		{"^$", "", true},
		{"a.c", "xabcx", true},
		{"^a{2,3}$", "aaaa", false},
		{"^a{2,3}$", "aaa", true},
		{"^(ab|cd)+$", "abcdab", true},
		{"^[^0-9]*$", "abc1", false},
		{"^a&b", "a", false},
		{"^(a.*&.*b)$", "axb", true},
		{"^(a.*&.*b)$", "axc", false},
		{"^(~(44[.]33[.]22[.]11))$", "44.33.22.11", false},
		{"^(~(44[.]33[.]22[.]11))$", "Mozilla/5.0", true},
		{"^(~(.*bot.*))$", "Googlebot", false},
		{"^(~(.*bot.*)&Moz.*)$", "Mozilla/5.0", true},
		{"~evil", "evil", true}, // found anywhere: something else than evil is in it, as nothing
		{"[-a]", "-", true},
		{"[a-]", "-", true},
		{"ü+", "füür", true},
	} {
		r, err := pire.Parse(tt.pattern)
		require.NoError(t, err, tt.pattern)
		require.Equal(t, tt.want, r.Match(tt.text), "%s in %q", tt.pattern, tt.text)
	}
	r, err := pire.Parse("SQLmap")
	require.NoError(t, err)
	require.False(t, r.Match("sqlmap"))
	require.True(t, r.MatchAnyCase("sqlmap"))
}

func TestWhatIsNotUnderstoodSaysHowToWriteIt(t *testing.T) {
	t.Parallel()
	for pattern, says := range map[string]string{
		`\d`: "write [0-9]", `sqlmap/1\.7`: "write [.]", `\w+`: "write [A-Za-z0-9_]", `\bx`: "name what stands before", `(x)\1`: "no back-references", `\x63`: "write the character itself",
		`a+?`: "Leave it out", `a{2}?`: "Leave it out", "(?i)x": "groups begin with ( alone", "(?=x)y": "no look-around", "(": "closing ) is missing", "x)": "write [)]", "[a": "closing ] is missing",
		"[]": "holds no character", "[[:digit:]]": "write the range", "[z-a]": "ends before it begins", "*x": "write [*]", "a{x}": "write {2}", "a{200}": "up to 100", "a{": "write [{]", "a~b": "put it first",
		`[\d]`: "write [0-9]", "\xff": "UTF-8", `\`: "a backslash isn't understood",
	} {
		_, err := pire.Parse(pattern)
		require.ErrorContains(t, err, says, pattern)
	}
}

// What both dialects know means the same in Go's.
func TestAsGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab)", "(a*b)"})
		var pattern strings.Builder
		pattern.WriteString(rapid.SampledFrom([]string{"", "^"}).Draw(t, "begin"))
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			pattern.WriteString(part.Draw(t, "part") + rapid.SampledFrom([]string{"", "*", "+", "?", "{2}", "{1,2}", "{0,}"}).Draw(t, "times"))
		}
		pattern.WriteString(rapid.SampledFrom([]string{"", "$"}).Draw(t, "end"))
		text := rapid.StringMatching("[abc]{0,6}").Draw(t, "text")
		r, err := pire.Parse(pattern.String())
		require.NoError(t, err)
		require.Equal(t, regexp.MustCompile(pattern.String()).MatchString(text), r.Match(text), "%s in %q", pattern.String(), text)
	})
}

// The time that a match takes is bounded by the lengths of pattern and text, however deep the pattern is nested.
func TestLongAndDeep(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ab", 150)
	for pattern, want := range map[string]bool{
		strings.Repeat("a", 3_000):                                  false,
		strings.Repeat("[ab]", 300) + "$":                           true,
		strings.Repeat("(a*", 50) + strings.Repeat(")*", 50) + "c":  false,
		strings.Repeat("(.{100}", 5) + strings.Repeat("){100}", 5):  false,
		strings.Repeat("(~(c", 20) + strings.Repeat("))", 20) + "d": false,
		strings.Repeat("(~(", 20) + "b" + strings.Repeat("))", 20):  true,
	} {
		r, err := pire.Parse(pattern)
		require.NoError(t, err, pattern)
		require.Equal(t, want, r.Match(text), "%.50s", pattern)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"^(~(a))$", "[^a-z]{2,3}|x&y", `\d`, "((a))+"} {
		f.Add(pattern)
	}
	f.Fuzz(func(_ *testing.T, pattern string) {
		if len(pattern) > 100 {
			return
		}
		if r, err := pire.Parse(pattern); err == nil {
			r.MatchAnyCase("Mozilla/5.0 (X11)")
		}
	})
}
