package architecture_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of packages into docs/architecture.md")

const architectureDoc = "../../docs/architecture.md"

// packageTable is the table of packages: its head and all its rows.
var packageTable = regexp.MustCompile(`(?m)^\| package \| what it is \|\n\|---\|---\|\n(\| .*\n)*`)

func TestDocsHaveTheTableOfPackages(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(architectureDoc)
	require.NoError(t, err)
	want := packageRows(t)
	if *update {
		text := packageTable.ReplaceAllLiteralString(string(doc), want)
		require.NoError(t, os.WriteFile(architectureDoc, []byte(text), 0o644))
		return
	}
	require.Equal(t, want, packageTable.FindString(string(doc)), "run: go test ./internal/architecture -run TestDocs -update")
}

// packageRows is the table as the comments of the packages say it.
func packageRows(t *testing.T) string {
	t.Helper()
	out := goList(t, "-f", "{{if .GoFiles}}{{.ImportPath}}\t{{.Doc}}{{end}}")
	rows := "| package | what it is |\n|---|---|\n"
	for line := range strings.Lines(string(out)) {
		path, comment, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words := strings.SplitN(comment, " ", 3) // Package name …
		require.Len(t, words, 3, "%s has no package comment", path)
		rows += "| `" + strings.TrimPrefix(path, module+"/") + "` | " + words[2] + " |\n"
	}
	return rows
}

// function is a name in the flows: the package's folder, then a function, or a type and its method.
var function = regexp.MustCompile("`([a-z]+(?:/[a-z]+)*)\\.([A-Za-z]+(?:\\.[A-Za-z]+)?)`")

func TestFlowsNameFunctionsThatExist(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(architectureDoc)
	require.NoError(t, err)
	_, flows, ok := strings.Cut(string(doc), "\n### ")
	require.True(t, ok)
	declared := map[string]map[string]bool{}
	for _, s := range sources(t) {
		declared[s.name()] = functions(s)
	}
	named := function.FindAllStringSubmatch(flows, -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		if declared[m[1]] != nil {
			require.True(t, declared[m[1]][m[2]], "docs/architecture.md names %s, which package %s doesn't have", m[2], m[1])
			continue
		}
		require.NotContains(t, m[1], "/", "docs/architecture.md names package %s, which doesn't exist", m[1])
	}
}

// functions are a package's functions, and its methods as Type.method.
func functions(s *source) map[string]bool {
	names := map[string]bool{}
	for _, f := range s.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case fn.Recv == nil:
				names[fn.Name.Name] = true
			default:
				names[receiver(fn.Recv.List[0].Type)+"."+fn.Name.Name] = true
			}
		}
	}
	return names
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// picture is a picture as documents name it.
var picture = regexp.MustCompile(`pictures/([\w-]+\.(?:png|webp))`)

func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, document := range append(documents, "../../README.md") {
		words, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, m := range picture.FindAllSubmatch(words, -1) {
			shown[string(m[1])] = true
		}
	}
	files, err := os.ReadDir("../../docs/pictures")
	require.NoError(t, err)
	var there []string
	for _, file := range files {
		there = append(there, file.Name())
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(shown)), there)
}

// testName is a test as documents name it.
var testName = regexp.MustCompile("`(Test\\w+)`")

func TestSecurityNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	there := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				there[fn.Name.Name] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	named := testName.FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, named)
	for _, m := range named {
		require.True(t, there[m[1]], "SECURITY.md names %s, which doesn't exist", m[1])
	}
}
