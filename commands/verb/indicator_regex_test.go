package verb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/sandbox/pire"
)

func TestWhichRegularExpressionsAreTried(t *testing.T) {
	t.Parallel()
	for pattern, tried := range map[string]bool{
		"sqlmap/1[.][0-9]": true, "^sqlmap": true, "map$": true, "^$": true, "": true, "a.c": true,
		"^(ab|cd)+$": true, "^a|^b": true, "(^|[ ])curl": true, "(^$|iPhone)": true,
		"a{2,3}": true, "[^0-9]*": true, "x|": true, "[-a]": true, "[a-]": true, "[a-b-c]": true, "[!-[:x:]]": true,
		"()": true, "a]b}": true,
		"^^a": false, "$^": false, "^*a": false, "(^|b){2}a": false, "(^a)(^b)": false, "a$$": false,
		"^a&b": false, "~evil": false, "^(~(.*bot.*)&Moz.*)$": false, "ü+": false, "[à-ü]": false, "a**": false,
		"a{2}{3}": false, "(.{100}){100}": false,
	} {
		_, err := scanRegex(pattern)
		require.NoError(t, err, pattern)
		require.Equal(t, tried, tryRegex(pattern) != nil, pattern)
	}
}

func TestWhatIsNotUnderstoodSaysHowToWriteIt(t *testing.T) {
	t.Parallel()
	for pattern, says := range map[string]string{
		`\d`: "write [0-9]", `sqlmap/1\.7`: "write [.]", `\w+`: "write [A-Za-z0-9_]",
		`\bx`: "name what stands before", `(x)\1`: "no back-references", `\x63`: "write the character itself",
		`a+?`: "Leave it out", `a{2}?`: "Leave it out", "(?i)x": "groups begin with ( alone",
		"(?P<n>x)": "groups begin with ( alone", "(?=x)y": "no look-around", "(": "closing ) is missing",
		"x)": "write [)]", "[a": "closing ] is missing", "[]": "holds no character", "[^]": "holds no character",
		"[[:digit:]]": "write the range", "[z-a]": "ends before it begins", "*x": "write [*]",
		"(|+)": "write [+]", "a~*b": "put it first", "~*": "write [*]", "a{x}": "write {2}", "a{200}": "up to 100",
		"a{3,2}": "write {2}", "a{": "write [{]", "a~b": "put it first",
		`[\d]`: "write [0-9]", "\xff": "UTF-8", `\`: "a backslash isn't understood",
	} {
		_, err := scanRegex(pattern)
		require.ErrorContains(t, err, says, pattern)
		_, err = pire.Parse(pattern)
		require.ErrorContains(t, err, says, "the emulated service says it, too: %s", pattern)
	}
}

// requireAlike holds that the service takes what the bot takes, and that both match the same of what the bot tries.
func requireAlike(t require.TestingT, pattern string, texts ...string) {
	if _, err := scanRegex(pattern); err != nil {
		return
	}
	r, err := pire.Parse(pattern)
	require.NoError(t, err, "%q", pattern)
	if match := tryRegex(pattern); match != nil {
		for _, text := range texts {
			require.Equal(t, r.MatchAnyCase(text), match(text), "%q in %q", pattern, text)
		}
	}
}

func TestWhatIsTriedMeansTheSameToTheService(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{
			"a", "B", "c", ".", "[ab]", "[^aB]", "[A-b]", "[a-b-c]", "(", "(", ")", ")", "|", "^", "$", "*", "+",
			"?", "{2}", "{0,1}", "{1,}", "-", "]", "&", "~", "ü", "()",
		})
		pattern := strings.Join(rapid.SliceOfN(part, 0, 9).Draw(t, "parts"), "")
		requireAlike(t, pattern, "", rapid.StringMatching("[abcABC-]{0,5}").Draw(t, "text"), "a\nb")
	})
}

func FuzzScanRegex(f *testing.F) {
	for _, pattern := range []string{"^(~(a))$", "[^a-z]{2,3}|x&y", `\d`, "((a))+", "(^|[ ])a{2}$", `[!-\]]`, "a{02}{+1}"} {
		f.Add(pattern, "Mozilla/5.0")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 50 || strings.ContainsFunc(text, func(r rune) bool { return r > 'z' }) {
			return
		}
		requireAlike(t, pattern, "", text)
	})
}
