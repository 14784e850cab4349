package deploy

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the chart's schema")

// The schema of the chart's values is helm/values.schema.json with the schema of the configuration in it, so that helm refuses what wafbot would.
func TestTheChartsSchemaHoldsTheConfigurations(t *testing.T) {
	t.Parallel()
	var values, config map[string]any
	for file, schema := range map[string]*map[string]any{"helm/values.schema.json": &values, "../internal/config/wafbot.schema.json": &config} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, schema))
	}
	delete(config, "$schema")
	require.Positive(t, switchable(config), "no policy has changes")
	values["$defs"].(map[string]any)["config"] = config
	want, err := json.MarshalIndent(values, "", " ")
	require.NoError(t, err)
	const file = "helm/wafbot/values.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(file, append(want, '\n'), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", string(got), "run: go test ./deploy -run TestTheChartsSchema -update && UPDATE=1 make helm-test")
}

// switchable lets "changes" be true or false, as which Helm reads on and off; the chart writes them as words again. It returns how many there are.
func switchable(schema any) (n int) {
	switch s := schema.(type) {
	case map[string]any:
		for key, value := range s {
			changes, ok := value.(map[string]any)
			if key == "changes" && ok {
				changes["anyOf"] = append(changes["anyOf"].([]any), map[string]any{"type": "boolean"})
				n++
				continue
			}
			n += switchable(value)
		}
	case []any:
		for _, value := range s {
			n += switchable(value)
		}
	}
	return n
}
