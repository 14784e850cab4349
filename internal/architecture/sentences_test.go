package architecture_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What text.Newf and its like are given is a constant that has a value for each %v, and closes what it opens.
func TestSentencesAreWhole(t *testing.T) {
	t.Parallel()
	read := 0
	eachFile(t, []string{"bot", "cmd", "commands", "internal", "poller"}, func(name string, file *ast.File) {
		said := []string{"Newf", "Addf", "itemf", "Misuse"}
		refuses := []string{"Usage", "Guarded", "Denied", "Nothing", "Warn"}
		if strings.HasPrefix(name, "bot/card/") {
			said = append(said, "say", "spare")
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && (slices.Contains(said, f.Sel.Name) ||
					slices.Contains(refuses, f.Sel.Name) && types.ExprString(f.X) == "refusal") {
					requireWhole(t, name, call)
					read++
				}
			}
			return true
		})
	})
	require.Greater(t, read, 100)
}

// requireWhole allows the one call that hands on a sentence, and its values, as they are.
func requireWhole(t *testing.T, path string, call *ast.CallExpr) {
	if call.Ellipsis.IsValid() {
		return
	}
	at := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return written(e) != "" })
	require.GreaterOrEqual(t, at, 0, "%s: a sentence is written where it is said", path)
	sentence := written(call.Args[at])
	require.Equal(t, strings.Count(sentence, "%v"), len(call.Args)-at-1, "%s: values of %q", path, sentence)
	require.Equal(t, strings.Count(sentence, "%"), strings.Count(sentence, "%v"), "%s: only %%v in %q", path, sentence)
	for _, mark := range []string{"*", "`", "|"} {
		require.Zero(t, strings.Count(sentence, mark)%2, "%s: %s of %q", path, mark, sentence)
	}
}

// written is the text of a string literal, or of several that are added; "" of anything else.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		said, err := strconv.Unquote(e.Value)
		if err == nil && e.Kind == token.STRING {
			return said
		}
	case *ast.BinaryExpr:
		if before, after := written(e.X), written(e.Y); before != "" && after != "" {
			return before + after
		}
	}
	return ""
}
