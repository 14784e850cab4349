package nearest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/nearest"
)

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"deny", "gray", "allow", "den"}
	for _, tt := range []struct {
		typed, want string
		most        int
	}{
		{"deny", "deny", 0},
		{"dney", "deny", 1}, // neighbours swapped count once
		{"dney", "", 0},
		{"denyy", "deny", 2},
		{"alow", "allow", 2},
		{"gary", "gray", 2},
		{"de", "den", 2}, // the nearer one, though it comes later
		{"patch", "", 2},
		{"", "", 2},
		{"deny", "", -1},
	} {
		require.Equal(t, tt.want, nearest.Word(tt.typed, known, tt.most), "%q within %d", tt.typed, tt.most)
	}
	require.Equal(t, "for", nearest.Word("fro", []string{"for", "from"}, 2), "the first of two that are as near")
}

// Anybody may type a word of 40,000 letters, which takes a quarter of a second to compare with all verbs.
func TestAWordThatIsTooLongIsNotCompared(t *testing.T) {
	long := strings.Repeat("d", 40_000)
	require.Zero(t, testing.AllocsPerRun(1, func() { nearest.Word(long, []string{"deny"}, 2) }))
}
