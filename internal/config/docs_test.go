package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/internal/config"
)

// oneOfEach has one element of every list whose elements have keys, and nothing else that has a default.
const oneOfEach = `
sources: [{name: office, ranges: [192.0.2.1]}]
policy: {terminal: {4: {role: viewer}}}
accounts:
  - name: acme
    api_url: https://api.example.com
    token: t
    channel: C0123ABCD
    applications: {4: {name: Shop}}
    routes: [{page: {url: "https://pager.example.com/", format: json}}]
`

// leaves calls leaf for every key that holds a value. An element of a list is [], any key of a map is *.
func leaves(v reflect.Value, key string, leaf func(key string, value reflect.Value)) {
	isStruct := func(t reflect.Type) bool {
		return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[config.Config]().PkgPath()
	}
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		if name == "" {
			continue
		}
		at := strings.TrimPrefix(key+"."+name, ".")
		if at == "accounts[].policy" || at == "accounts[].sources" || at == "account_defaults" { // its keys are those of policy, of sources, of an account
			leaf(at, reflect.Zero(field.Type()))
			continue
		}
		switch kind := field.Kind(); {
		case isStruct(field.Type()):
			leaves(field, at, leaf)
		case kind == reflect.Pointer && isStruct(field.Type().Elem()):
			leaves(field.Elem(), at, leaf)
		case kind == reflect.Slice && isStruct(field.Type().Elem()):
			leaves(field.Index(0), at+"[]", leaf)
		case kind == reflect.Map && isStruct(field.Type().Elem()):
			leaf(at, reflect.Zero(field.Type()))
			leaves(field.MapIndex(field.MapKeys()[0]), at+".*", leaf)
		default:
			leaf(at, field)
		}
	}
}

// values are those of every key of oneOfEach, with more keys set to what is documented as their default.
func values(t *testing.T, documented map[string]string) map[string]any {
	t.Helper()
	var file map[string]any
	require.NoError(t, yaml.Load([]byte(oneOfEach), &file))
	for key, text := range documented {
		var value any
		require.NoError(t, yaml.Load([]byte(text), &value), key)
		set(file, strings.Split(key, "."), value)
	}
	text, err := yaml.Dump(file)
	require.NoError(t, err)
	all := map[string]any{}
	leaves(reflect.ValueOf(load(t, string(text))).Elem(), "", func(key string, value reflect.Value) {
		if value.Kind() == reflect.Slice && value.Len() == 0 {
			value = reflect.Zero(value.Type()) // an empty list is the same as none
		}
		all[key] = value.Interface()
	})
	return all
}

// set sets a key in a decoded file, whose maps are made where they are missing.
func set(file map[string]any, path []string, value any) {
	name, list := strings.CutSuffix(path[0], "[]")
	switch {
	case len(path) == 1:
		file[name] = value
	case list:
		set(file[name].([]any)[0].(map[string]any), path[1:], value)
	default:
		if file[name] == nil {
			file[name] = map[string]any{}
		}
		set(file[name].(map[string]any), path[1:], value)
	}
}

// documented is the table rows of docs/config.md: the name in the first column, and the row's columns.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*)$").FindAllString(docs(t), -1) {
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

func docs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	require.NoError(t, err)
	return string(text)
}

// Each documented default, written into a file, changes nothing; where none is documented there is none.
func TestDocsNameEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	rows, written := documented(t), map[string]string{}
	byDefault := values(t, nil)
	given := oneOfEachKeys()
	for key, value := range byDefault {
		require.Contains(t, rows, key)
		columns := rows[key]
		delete(rows, key)
		require.Len(t, columns, 4, key)
		switch text := strings.Trim(columns[2], "`"); {
		case text != "":
			written[key] = text
		case !slices.Contains(given, key):
			require.Zero(t, value, "%s has a default that is not documented", key)
		}
	}
	require.Equal(t, byDefault, values(t, written))
	for name, key := range config.Variables() {
		require.Contains(t, rows, name)
		require.Contains(t, rows[name][1], "`"+strings.TrimPrefix(key, "accounts[0].")+"`")
		delete(rows, name)
	}
	delete(rows, "WAFBOT_CONFIG")
	delete(rows, "WAFBOT_NEVER_DENY")
	delete(rows, "WAFBOT_TERMINAL")
	require.Empty(t, rows, "documented, but not there")
}

// oneOfEachKeys are the keys that oneOfEach sets because they are required.
func oneOfEachKeys() []string {
	return []string{
		"sources[].name", "sources[].ranges", "accounts[].name", "accounts[].api_url", "accounts[].token", "accounts[].channel",
		"accounts[].applications.*.name", "policy.terminal.*.role", "accounts[].routes[].page.url", "accounts[].routes[].page.format",
	}
}

func TestDocsNameEveryVariable(t *testing.T) {
	t.Parallel()
	known := append(slices.Collect(maps.Keys(config.Variables())), "WAFBOT_CONFIG", "WAFBOT_NEVER_DENY", "WAFBOT_TERMINAL")
	named := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`WAFBOT_[A-Z_]+`).FindAllString(docs(t), -1))))
	require.ElementsMatch(t, known, named)
}

func TestTheSmallestFileOfTheDocsLoads(t *testing.T) {
	t.Parallel()
	_, yaml, found := strings.Cut(docs(t), "```yaml\n")
	require.True(t, found)
	yaml, _, found = strings.Cut(yaml, "```")
	require.True(t, found)
	require.NoError(t, load(t, withSecrets(t, yaml)).CheckServe())
}

// withSecrets is a configuration whose files in /run/secrets are there.
func withSecrets(t *testing.T, yaml string) string {
	t.Helper()
	secrets := t.TempDir()
	for _, found := range regexp.MustCompile(`/run/secrets/([\w-]+)`).FindAllStringSubmatch(yaml, -1) {
		require.NoError(t, os.WriteFile(filepath.Join(secrets, found[1]), []byte("secret\n"), 0o600))
	}
	return strings.ReplaceAll(yaml, "/run/secrets", secrets)
}

func TestTheExampleLoads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "wafbot.example.yaml"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "# yaml-language-server: $schema=wafbot.schema.json\n"), "an editor looks at the first line")
	require.NoError(t, load(t, withSecrets(t, string(text))).CheckServe())
}
