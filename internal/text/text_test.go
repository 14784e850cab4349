package text_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/text"
)

// A sentence makes the pieces that its parts would make. In a value nothing is read, whatever a stranger wrote.
func TestASentenceReadsNoValue(t *testing.T) {
	t.Parallel()
	at, hostile := time.Unix(1_700_000_000, 0), "*%v* `x` %d"
	require.Equal(t, text.New(text.Bold("NOT done"), ", ", hostile, " by ", text.Code("undo "+hostile), " until ", at,
		text.Bold(hostile)),
		text.Newf("*NOT done*, %v by `undo %v` until %v*%v*", hostile, hostile, at, hostile))
	require.Equal(t, text.New("a", text.User("U1"), 7), text.Newf("a%v%v", text.User("U1"), 7))
	require.Equal(t, text.New(), text.Newf(""))
}

// What is added to a line isn't seen in a copy of it.
func TestAddingLeavesCopies(t *testing.T) {
	t.Parallel()
	line := make(text.Text, 0, 8)
	line.Addf("a %v", 1)
	left, right := line, line
	left.Addf(", %v", "left")
	right.Addf(", %v", "right")
	require.Equal(t, "a 1, left|a 1, right|a 1", left.String()+"|"+right.String()+"|"+line.String())
}
