package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// dashboard is what the tests need of Grafana's model.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type string
			Definition string
		}
	}
	Annotations struct {
		List []struct{ Expr string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ Type, UID string }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
	Targets []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../grafana/wafbot.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&d))
	return d
}

// asked is an expression as Grafana asks it, with everything chosen.
func asked(expr, rate string) string {
	return strings.NewReplacer("$job", ".*", "$account", ".*", "$__rate_interval", rate).Replace(expr)
}

// queries are all of a dashboard, by panel and letter.
func (d dashboard) queries(rate string) map[string]string {
	all := map[string]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all[p.Title+" "+target.RefID] = asked(target.Expr, rate)
		}
	}
	return all
}

func TestTheDashboardIsWhole(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	require.Equal(t, []string{"wafbot", "wafbot"}, []string{d.Title, d.UID})
	variables := map[string]bool{}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		requireDocumented(t, v.Definition)
	}
	require.Equal(t, map[string]bool{"datasource": true, "job": true, "account": true}, variables)
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "the id %d is there twice", p.ID)
		require.False(t, titles[p.Title], "%s is there twice", p.Title)
		ids[p.ID], titles[p.Title] = true, true
		at := p.GridPos
		require.True(t, at.X >= 0 && at.W > 0 && at.H > 0 && at.X+at.W <= 24, "%s is beside the grid of 24 columns", p.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies over it", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		require.Contains(t, []string{"stat", "timeseries"}, p.Type, p.Title)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			requireDocumented(t, target.Expr)
			require.NotEmpty(t, target.LegendFormat, p.Title)
		}
	}
}

// Prometheus parses every query: each as a recording rule.
func TestPromtoolTakesTheQueries(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	var recorded []map[string]string
	for name, expr := range d.queries("5m") {
		recorded = append(recorded, map[string]string{"record": fmt.Sprintf("panel_%d", len(recorded)), "expr": expr})
		require.NotContains(t, expr, "$", name)
	}
	for _, a := range d.Annotations.List {
		recorded = append(recorded, map[string]string{"record": "annotation", "expr": a.Expr})
	}
	text, err := yaml.Dump(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": recorded}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	promtool(t, "check", "rules", file)
}
