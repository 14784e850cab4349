package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// leaves calls leaf for every key that holds a value, with its default. An element of a list is [], any key of a map is *.
func leaves(v reflect.Value, key string, leaf func(key string, byDefault reflect.Value)) {
	deeper := func(t reflect.Type) bool {
		return t.Kind() == reflect.Struct && kindOf(reflect.New(t).Elem()) == yaml.MappingNode
	}
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		if name == "" {
			continue
		}
		at := below(key, name)
		switch {
		case deeper(field.Type()):
			leaves(field, at, leaf)
		case field.Kind() == reflect.Pointer && kindOf(field) == yaml.MappingNode:
			leaves(newWithDefaults(field.Type().Elem()), at, leaf)
		case field.Kind() == reflect.Slice && deeper(field.Type().Elem()):
			leaves(newWithDefaults(field.Type().Elem()), at+"[]", leaf)
		case field.Kind() == reflect.Map && deeper(field.Type().Elem()):
			leaf(at, field)
			leaves(newWithDefaults(field.Type().Elem()), at+".*", leaf)
		default:
			leaf(at, field)
		}
	}
}

// documented is the table rows of docs/config.md: the name in the first column, and the row's columns.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	require.NoError(t, err)
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*)$").FindAllString(string(text), -1) {
		columns := strings.Split(strings.Trim(row, "|"), "|")
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		name := strings.Trim(columns[0], "`")
		require.NotContains(t, rows, name, "documented twice")
		rows[name] = columns
	}
	return rows
}

func TestDocsNameEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	rows := documented(t)
	leaves(reflect.ValueOf(defaultConfig()).Elem(), "", func(key string, byDefault reflect.Value) {
		require.Contains(t, rows, key)
		columns := rows[key]
		delete(rows, key)
		require.Len(t, columns, 4, key)
		value := reflect.New(byDefault.Type()).Elem()
		if written := strings.Trim(columns[2], "`"); written != "" {
			var node yaml.Node
			require.NoError(t, yaml.Load([]byte(written), &node))
			d := decoder{origins: &origins{keys: map[string]origin{}}}
			d.decode(node.Content[0], value, key)
			require.NoError(t, d.err())
		}
		if value.Kind() == reflect.Slice && value.Len() == 0 && byDefault.Len() == 0 {
			return
		}
		require.Equal(t, byDefault.Interface(), value.Interface(), key)
	})
	for _, v := range configVariables(&Config{}, &Account{}) {
		require.Contains(t, rows, v.name)
		require.Contains(t, rows[v.name][1], "`"+strings.TrimPrefix(v.key, "accounts[0].")+"`")
		delete(rows, v.name)
	}
	delete(rows, configFileVariable)
	delete(rows, neverDenyVariable)
	require.Empty(t, rows, "documented, but not there")
}

func TestDocsNameEveryVariable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	require.NoError(t, err)
	known := []string{configFileVariable, neverDenyVariable}
	for _, v := range configVariables(&Config{}, &Account{}) {
		known = append(known, v.name)
	}
	named := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`WAFBOT_[A-Z_]+`).FindAllString(string(text), -1))))
	require.ElementsMatch(t, known, named)
}

func TestTheSmallestFileOfTheDocsLoads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	require.NoError(t, err)
	_, yaml, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found)
	yaml, _, found = strings.Cut(yaml, "```")
	require.True(t, found)
	secrets := t.TempDir()
	for _, name := range []string{"slack-bot-token", "slack-signing-secret", "acme"} {
		require.NoError(t, os.WriteFile(filepath.Join(secrets, name), []byte("secret\n"), 0o600))
	}
	require.NoError(t, load(t, strings.ReplaceAll(yaml, "/run/secrets", secrets)).requireServe())
}
