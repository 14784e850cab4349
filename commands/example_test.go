package commands_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new command is one file and one line: CONTRIBUTING shows a real one, whole, and nothing else knows of it.
func TestTheExampleOfACommandIsReal(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	guide := read("../CONTRIBUTING.md")
	require.Contains(t, guide, "```go\n"+read("verb/verdict.go")+"```", "CONTRIBUTING.md shows another verdict.go than there is: copy it again")
	require.Contains(t, guide, "```go\nverdict(),\n```")
	require.Equal(t, 1, strings.Count(read("verb/verb.go"), " verdict(),"))
	files, err := filepath.Glob("verb/*.go")
	require.NoError(t, err)
	others := slices.DeleteFunc(files, func(f string) bool { return f == "verb/verdict.go" || f == "verb/verb.go" })
	require.NotEmpty(t, others)
	for _, file := range others {
		require.NotContains(t, read(file), "verdict()", file)
	}
}
