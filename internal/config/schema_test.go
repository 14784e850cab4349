package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/internal/config"
)

var update = flag.Bool("update", false, "write wafbot.schema.json")

// asDocumented says of a key what docs/config.md says of it, with the default in JSON's types. What accounts have below account_defaults, policy and sources has its row where that is explained.
func asDocumented(t *testing.T) config.Documented {
	t.Helper()
	rows := documented(t)
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	return func(key string) (text string, def any) {
		inAccount := false
		if below, ok := strings.CutPrefix(key, "account_defaults."); ok {
			key = "accounts[]." + below
		}
		for _, list := range []string{"policy.", "sources[]"} {
			if _, below, ok := strings.Cut(key, "accounts[]."+list); ok {
				key, inAccount = list+below, list == "policy."
			}
		}
		row := rows[key]
		if row == nil {
			return "", nil
		}
		text = link.ReplaceAllString(row[3], "$1")
		if secret, isFile := strings.CutSuffix(key, "_file"); isFile && text == "" {
			text = "the file that holds " + secret[strings.LastIndex(secret, ".")+1:]
		}
		if written := strings.Trim(row[2], "`"); written != "" && !inAccount {
			require.NoError(t, yaml.Load([]byte(written), &def), key)
		}
		return text, def
	}
}

// TestSchemaIsCurrent writes the schema with -update.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	out := json.NewEncoder(&want)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	require.NoError(t, out.Encode(config.SchemaOf(asDocumented(t))))
	if *update {
		require.NoError(t, os.WriteFile("wafbot.schema.json", want.Bytes(), 0o644))
		return
	}
	require.Equal(t, want.String(), string(config.Schema), "run: go test ./internal/config -run TestSchema -update")
}

func TestSchemaDescribesEveryKey(t *testing.T) {
	t.Parallel()
	var root map[string]any
	require.NoError(t, json.Unmarshal(config.Schema, &root))
	var check func(at string, n any)
	check = func(at string, n any) {
		switch n := n.(type) {
		case []any:
			for _, each := range n {
				check(at, each)
			}
		case map[string]any:
			keys, _ := n["properties"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				require.NotEmpty(t, keys[key].(map[string]any)["description"], "%s.%s", at, key)
				check(at+"."+key, keys[key])
			}
			for _, inner := range []string{"items", "additionalProperties", "anyOf"} {
				check(at, n[inner])
			}
		}
	}
	check("", root)
}

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
})

// decoded is a configuration as a plain YAML reader has it, if it makes a value of it.
func decoded(text string) (file any, is bool) {
	err := yaml.Load([]byte(text), &file)
	return file, err == nil && file != nil
}

// asJSON is a decoded file with the types that JSON has.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = asJSON(v[key])
		}
	case map[any]any:
		named := map[string]any{}
		for key := range v {
			named[fmt.Sprint(key)] = asJSON(v[key])
		}
		return named
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	case time.Time:
		return v.String()
	}
	return v
}

// seen are mistakes that an editor shows, by what the loader says of them.
var seen = []string{"unknown key;", "write a single value", "write a list", "write keys with values below it", "is no whole number", "write a user id"}

// requireSchemaAgrees holds the schema against what the loader said of a file: "" if it took it.
func requireSchemaAgrees(t testing.TB, text, said string) {
	t.Helper()
	file, is := decoded(text)
	if !is {
		return
	}
	schema, err := compiled()
	require.NoError(t, err)
	why := schema.Validate(asJSON(file))
	if said == "" {
		require.NoError(t, why, "the loader takes what the schema refuses:\n%s", text)
		return
	}
	inFile := regexp.MustCompile(`(?m)^FILE:.*$`).FindAllString(said, -1)
	if slices.ContainsFunc(inFile, func(line string) bool {
		return slices.ContainsFunc(seen, func(words string) bool { return strings.Contains(line, words) })
	}) {
		require.Error(t, why, "the schema takes what the loader says of:\n%s\n%s", said, text)
	}
}
