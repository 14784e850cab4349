package call_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

// A line may be one name again and again, of anybody: whether a value follows is asked once for all of them, not once for each.
func TestANameThatIsRepeatedIsReadOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	deny := call.Command{Name: "deny", Args: []call.Arg{{Name: "for", Bare: func(word string) bool {
		asked++
		return grammar.IsDuration(word)
	}}}}
	repeated := slices.Repeat([]string{"for"}, 10_000)
	for want, words := range map[string][]string{
		"":   repeated,
		"2h": slices.Concat(repeated, []string{"2h"}),
		"4h": slices.Concat([]string{"203.0.113.7"}, repeated, []string{"because"}, repeated, []string{"4", "h"}),
	} {
		asked = 0
		line, err := deny.Understand(record.Line{Name: "deny", Words: words})
		require.NoError(t, err)
		require.Equal(t, want, line.Keys["for"])
		require.Less(t, asked, 10)
	}
}
