package architecture_test

import (
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// budgetFile holds how large each package may be, and what the whole may have.
const budgetFile = "budgets.txt"

const (
	slack      = 500 // tokens that a row may be over its package, so that rows follow the code down
	widestLine = 120 // characters
)

// room is a package's budget in Go tokens: what it may have, and what it shall have in the end.
type room struct{ row, target int }

// budgets are what budgetFile says.
type budgets struct {
	ceiling int             // of the sum of all rows, in tokens
	wide    int             // lines over widestLine
	keys    int             // keys of the configuration
	rooms   map[string]room // by folder
}

// size is how large a package is, tests left out.
type size struct{ tokens, wide int }

// TestBudgets keeps the code small. Go tokens count, not lines: so nobody saves a comment, a blank line or a good name.
// With -update it lowers what can be lowered. Raising a number is a decision, made in budgetFile by hand: a row may rise
// when another one falls.
func TestBudgets(t *testing.T) {
	t.Parallel()
	b, sizes, keys := readBudgets(t), measure(t, "../.."), countKeys(t)
	if *update {
		b.lower(sizes, keys)
		b.write(t)
	}
	t.Log("\n" + b.table(sizes))
	require.Empty(t, b.problems(sizes, keys), "make it smaller, or run go test ./internal/architecture -run TestBudgets -update where it is")
}

// TestBudgetsBite tries each limit.
func TestBudgetsBite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"big", "internal/sandbox", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
	}
	empty := "package big\n" + strings.Repeat("func f() {}\n", 600)
	files := map[string]string{
		"big/big.go": empty, "big/big_test.go": empty, "internal/sandbox/big.go": empty,
		"new/new.go": "package new // " + strings.Repeat("é", 110) + "\nvar _ = `" + strings.Repeat("é", 120) + "`;\n",
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	sizes := measure(t, root)
	require.Equal(t, map[string]size{"big": {tokens: 2 + 600*6}, "new": {tokens: 2 + 5, wide: 2}}, sizes)

	b := budgets{ceiling: 4000, wide: 2, keys: 3, rooms: map[string]room{"big": {3602, 100}, "new": {7, 7}}}
	require.Empty(t, b.problems(sizes, 3))
	require.Len(t, b.problems(sizes, 4), 1, "a key")
	b.wide = 1
	require.Len(t, b.problems(sizes, 3), 1, "a wide line")
	b.wide, b.ceiling = 2, 3608
	require.Len(t, b.problems(sizes, 3), 1, "the sum")
	b.ceiling, b.rooms["big"] = 4000, room{3601, 100}
	require.Len(t, b.problems(sizes, 3), 1, "too large")
	b.rooms["big"] = room{3602 + slack + 1, 100}
	b.ceiling = 9000
	require.Len(t, b.problems(sizes, 3), 1, "a row that doesn't follow its package down")
	b.rooms["big"] = room{3602, 100}
	delete(b.rooms, "new")
	require.Len(t, b.problems(sizes, 3), 1, "no row")
	b.rooms["new"], b.rooms["gone"] = room{7, 7}, room{7, 7}
	require.Len(t, b.problems(sizes, 3), 1, "a row without a package")
}

// problems says what breaks the budgets.
func (b budgets) problems(sizes map[string]size, keys int) (all []string) {
	sum, wide := 0, 0
	for _, folder := range slices.Sorted(maps.Keys(b.rooms)) {
		row, tokens := b.rooms[folder].row, sizes[folder].tokens
		sum += row
		switch {
		case tokens == 0:
			all = append(all, folder+" has a row and no code: delete the row")
		case tokens > row:
			all = append(all, fmt.Sprintf("%s has %d tokens, its row allows %d", folder, tokens, row))
		case row > tokens+slack:
			all = append(all, fmt.Sprintf("the row of %s is %d, over %d more than its %d tokens", folder, row, slack, tokens))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		wide += sizes[folder].wide
		if b.rooms[folder].row == 0 {
			all = append(all, folder+" has no row")
		}
	}
	for _, limit := range []struct {
		what      string
		has, most int
	}{{"tokens in all rows", sum, b.ceiling}, {"lines over 120 characters", wide, b.wide}, {"keys of the configuration", keys, b.keys}} {
		if limit.has > limit.most {
			all = append(all, fmt.Sprintf("%s: %d, at most %d", limit.what, limit.has, limit.most))
		}
	}
	return all
}

// lower lowers what is higher than need be.
func (b *budgets) lower(sizes map[string]size, keys int) {
	wide := 0
	for folder, r := range b.rooms {
		if tokens := sizes[folder].tokens; tokens == 0 {
			delete(b.rooms, folder)
		} else {
			b.rooms[folder] = room{min(r.row, tokens), r.target}
		}
	}
	for _, s := range sizes {
		wide += s.wide
	}
	b.wide, b.keys = min(b.wide, wide), min(b.keys, keys)
}

// table has a line for each package: what it has, its row and its target.
func (b budgets) table(sizes map[string]size) string {
	lines := fmt.Sprintf("%-32s %8s %8s %8s\n", "package", "tokens", "row", "target")
	var all, row, target int
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		r := b.rooms[folder]
		lines += fmt.Sprintf("%-32s %8d %8d %8d\n", folder, sizes[folder].tokens, r.row, r.target)
		all, row, target = all+sizes[folder].tokens, row+r.row, target+r.target
	}
	return lines + fmt.Sprintf("%-32s %8d %8d %8d, ceiling %d\n", "in all", all, row, target, b.ceiling)
}

const budgetHead = `# How large wafbot may be. TestBudgets keeps it; go test ./internal/architecture -run TestBudgets -update lowers numbers.
# ceiling: Go tokens of all rows. wide: lines over 120 characters. keys: of the configuration. They only fall.
# Then a row a package: what it may have, and its target. A row may rise when another one falls.
`

func readBudgets(t *testing.T) budgets {
	t.Helper()
	text, err := os.ReadFile(budgetFile)
	require.NoError(t, err)
	b := budgets{rooms: map[string]room{}}
	limits := map[string]*int{"ceiling": &b.ceiling, "wide": &b.wide, "keys": &b.keys}
	for line := range strings.Lines(strings.TrimPrefix(string(text), budgetHead)) {
		var name string
		var r room
		if n, _ := fmt.Sscan(line, &name, &r.row, &r.target); n == 3 {
			b.rooms[name] = r
			continue
		}
		require.NotNil(t, limits[name], "a line that can't be read: %s", line)
		*limits[name] = r.row
	}
	return b
}

func (b budgets) write(t *testing.T) {
	t.Helper()
	text := budgetHead + fmt.Sprintf("ceiling %d\nwide %d\nkeys %d\n", b.ceiling, b.wide, b.keys)
	for _, folder := range slices.Sorted(maps.Keys(b.rooms)) {
		text += fmt.Sprintf("%-32s %7d %7d\n", folder, b.rooms[folder].row, b.rooms[folder].target)
	}
	require.NoError(t, os.WriteFile(budgetFile, []byte(text), 0o644))
}

// measure is how large each folder's production code is, but for the emulator.
func measure(t *testing.T, root string) map[string]size {
	t.Helper()
	sizes := map[string]size{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		if entry.IsDir() {
			inside, _ := filepath.Rel(root, path)
			if inside == "internal/sandbox" || slices.Contains([]string{".git", "testdata", "node_modules"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sizes[folder] = size{sizes[folder].tokens + countTokens(code), sizes[folder].wide + countWide(code)}
		return nil
	}))
	return sizes
}

// countTokens counts tokens, but for comments and automatic semicolons.
func countTokens(code []byte) (n int) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(code)), code, nil, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return n
		}
		if kind != token.SEMICOLON || literal == ";" {
			n++
		}
	}
}

func countWide(code []byte) (n int) {
	for line := range strings.Lines(string(code)) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > widestLine {
			n++
		}
	}
	return n
}

// repeated are the parts of the schema that say keys again which stand elsewhere: each counts once.
var repeated = []string{".account_defaults", ".accounts.policy", ".accounts.sources"}

// countKeys counts the leaves of the configuration's schema.
func countKeys(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("../config/wafbot.schema.json")
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	leaves := map[string]bool{}
	addLeaves(schema, "", leaves)
	require.True(t, leaves[".accounts.routes.page.after"])
	return len(leaves)
}

// addLeaves adds the keys below a node, or its own path if there are none, and reports whether it added any.
func addLeaves(node any, path string, leaves map[string]bool) {
	if slices.Contains(repeated, path) || !addBelow(node, path, leaves) {
		leaves[path] = true
	}
}

func addBelow(node any, path string, leaves map[string]bool) (found bool) {
	n, ok := node.(map[string]any)
	if !ok {
		return false
	}
	keys, _ := n["properties"].(map[string]any)
	for key, below := range keys {
		found = true
		addLeaves(below, path+"."+key, leaves)
	}
	found = addBelow(n["items"], path, leaves) || found
	found = addBelow(n["additionalProperties"], path, leaves) || found
	choices, _ := n["anyOf"].([]any)
	for _, choice := range choices {
		found = addBelow(choice, path, leaves) || found
	}
	return found
}
