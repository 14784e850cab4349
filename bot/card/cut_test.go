package card

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/text"
)

// pieces are what must not be cut in two: what takes several bytes, code points, units of UTF-16, or grows when it is
// escaped.
var pieces = []string{"a", "é", "日", "𝒳", "🙂", "e\u0301", "ก็", "🇫🇷", "👍🏽", "👩‍👩‍👧‍👦", "❤️", "&", "<", "&amp;", "<!here>", "*", "_", "`", "\u202e", "\x00", "\xff", ":x:"}

// Wherever a limit of Slack's falls: a text is no longer than it, and nothing is cut inside a visible character or an
// escape.
func TestTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, piece := range full.Some(4, pieces) {
		for _, limit := range full.Some(2, []int{maxLabel, maxNotice, 150, maxDialogText, 2_000, maxText}) {
			for before := limit - 12; before <= limit+1; before++ {
				words := strings.Repeat("a", before) + strings.Repeat(piece, 40)
				what := fmt.Sprintf("%d times a, then %q, cut to %d", before, piece, limit)
				requireCut(t, plainText(words, limit).Text, words, limit, limit-20, what)
				for _, line := range []text.Text{text.New(words), text.New(text.Code(words)), text.New("x ", text.Bold(words))} {
					markup := fit(line, limit)
					require.LessOrEqual(t, units(markup), limit, what)
					requireHarmless(t, markup)
					require.Equal(t, markup, escape(html.UnescapeString(markup)), what)
				}
			}
		}
	}
}

// requireCut demands that what is shown is the beginning of what is there, up to the end of a visible character behind
// the first ones, which are known.
func requireCut(t *testing.T, shown, words string, limit, first int, what string) {
	t.Helper()
	require.True(t, utf8.ValidString(shown), what)
	require.LessOrEqual(t, units(shown), limit, what)
	begun, cut := strings.CutSuffix(shown, "…")
	whole := text.Sanitize(words, 100_000)
	if !cut {
		require.Equal(t, whole, shown, what)
		return
	}
	require.GreaterOrEqual(t, units(shown), limit-40, what)
	for rest := words[first:]; ; {
		if begun == text.Sanitize(words[:len(words)-len(rest)], 100_000) {
			return
		}
		require.NotEmpty(t, rest, what)
		_, rest, _, _ = uniseg.FirstGraphemeClusterInString(rest, -1)
	}
}

// flooded is a path that seems to end before its end where marks on a letter are left out without a word.
var flooded = "/login" + strings.Repeat("\u0301", 2_500) + "/hidden-tail.php"

// endsEarly is such a path shown so.
var endsEarly = regexp.MustCompile(`login[\x{0301}]*([^…\x{0301}]|$)`)

// Everywhere a path is drawn, from cards to the dialog before a patch and to forms, what is left out of it is said.
func TestNoPathSeemsToEndBeforeItsEnd(t *testing.T) {
	t.Parallel()
	shown := 0
	for name, draw := range hostileDrawn(flooded) {
		for _, one := range draw() {
			drawn, err := json.Marshal(one)
			require.NoError(t, err)
			var doc any
			require.NoError(t, json.Unmarshal(drawn, &doc))
			for _, seen := range seenIn(doc) {
				require.False(t, endsEarly.MatchString(seen), "%s: %.300q", name, seen)
				if strings.Contains(seen, "/log") {
					shown++
				}
			}
		}
	}
	require.Greater(t, shown, 100)
}

// seenIn are the texts that a person sees, of anything as JSON.
func seenIn(doc any) (all []string) {
	switch d := doc.(type) {
	case string:
		return []string{d}
	case []any:
		for _, one := range d {
			all = append(all, seenIn(one)...)
		}
	case map[string]any:
		for key, one := range d {
			if !slices.Contains([]string{"value", "private_metadata", "callback_id", "block_id", "action_id", "url", "Metadata", "metadata"}, key) {
				all = append(all, seenIn(one)...)
			}
		}
	}
	return all
}
