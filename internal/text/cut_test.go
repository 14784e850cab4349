package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/text"
)

// A text is cut between what a reader sees as characters, and that it was cut is seen.
func TestCut(t *testing.T) {
	t.Parallel()
	const e = "e\u0301" // é, of two code points
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"short":           {"deny", 4, "deny"},
		"long":            {"deny 1", 5, "deny…"},
		"many bytes":      {"ééééé", 5, "ééééé"},
		"marks":           {e + e + e, 4, e + "…"},
		"a flood of them": {"ab" + strings.Repeat("\u0301", 100) + "/hidden", 50, "a…"},
		"a family":        {"👨‍👩‍👧👨‍👩‍👧", 12, "👨‍👩‍👧…"},
		"not UTF-8":       {"\xff\xff\xff", 2, "\xff…"},
	} {
		got := text.Cut(c.text, c.limit)
		require.Equal(t, c.want, got, name)
		require.LessOrEqual(t, text.Length(got), c.limit, name)
	}
}
