// Package prometheus tests the alert rules and the dashboard with the real Prometheus.
package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/internal/full"
)

const rulesFile = "wafbot.rules.yml"

// rule is an alert rule.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	var file ruleFile
	require.NoError(t, yaml.Load(text, &file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

// promtool runs it, which scripts/tools installs.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	full.Only(t) // promtool is no part of Go
	out, err := exec.Command("promtool", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestPromtoolTakesTheRulesAndTheExample(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", rulesFile)
	promtool(t, "check", "config", "prometheus.example.yml")
}

// metricName is a metric of wafbot's in an expression, or in a table of the documentation.
var metricName = regexp.MustCompile(`\bwafbot_\w+`)

// documented are the metrics of docs/metrics.md; those of a histogram have three names.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	doc, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(wafbot_\\w+)` \\| (\\w+) ").FindAllStringSubmatch(string(doc), -1) {
		known[row[1]] = true
		if row[2] == "histogram" {
			known[row[1]+"_bucket"], known[row[1]+"_sum"], known[row[1]+"_count"] = true, true, true
		}
	}
	require.NotEmpty(t, known)
	return known
}

func requireDocumented(t *testing.T, expr string) {
	t.Helper()
	known := documented(t)
	for _, name := range metricName.FindAllString(expr, -1) {
		require.True(t, known[name], "%s is not in docs/metrics.md", name)
	}
}

// Each alert says how bad it is, and where it stands what to do about it.
func TestEachAlertHasItsRunbook(t *testing.T) {
	t.Parallel()
	runbooks, err := os.ReadFile("../../docs/runbooks.md")
	require.NoError(t, err)
	const at = "https://github.com/wafbot/wafbot/blob/main/docs/runbooks.md#"
	var names []string
	for _, r := range rules(t) {
		names = append(names, r.Alert)
		require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
		require.Equal(t, at+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
		requireDocumented(t, r.Expr)
	}
	var sections []string
	for _, s := range regexp.MustCompile(`(?m)^## (Wafbot\w+)$`).FindAllStringSubmatch(string(runbooks), -1) {
		sections = append(sections, s[1])
	}
	require.ElementsMatch(t, names, sections, "a section for each alert, and no other")
	requireDocumented(t, string(runbooks))
}

// healthy are the series of two replicas that have nothing to complain about, as promtool writes them: for two hours, a
// value a minute.
func healthy() map[string]string {
	return map[string]string{
		`up{job="wafbot",instance="a"}`: "1x120", `up{job="wafbot",instance="b"}`: "1x120", `up{job="other",instance="a"}`: "0x120",
		`wafbot_build_info{job="wafbot",instance="a"}`: "1x120", `wafbot_build_info{job="wafbot",instance="b"}`: "1x120",
		`wafbot_redis_up{job="wafbot",instance="a"}`: "1x120", `wafbot_redis_up{job="wafbot",instance="b"}`: "1x120",
		`wafbot_receiving{job="wafbot",instance="a"}`: "1x120", `wafbot_receiving{job="wafbot",instance="b"}`: "1x120",
		`wafbot_socket_links{job="wafbot",instance="a"}`: "2x120", `wafbot_socket_links{job="wafbot",instance="b"}`: "2x120",
		`wafbot_replicas{job="wafbot",instance="a"}`: "2x120", `wafbot_replicas{job="wafbot",instance="b"}`: "2x120",
		`wafbot_account_owned{job="wafbot",instance="a",account="acme"}`: "1x120", `wafbot_account_owned{job="wafbot",instance="b",account="acme"}`: "0x120",
		`wafbot_account_reachable{job="wafbot",instance="a",account="acme"}`:                         "1x120",
		`wafbot_account_poll_interval_seconds{job="wafbot",instance="a",account="acme"}`:             "15x120",
		`wafbot_account_last_good_poll_timestamp_seconds{job="wafbot",instance="a",account="acme"}`:  "0+60x120",
		`wafbot_account_permission_lost{job="wafbot",instance="a",account="acme"}`:                   "0x120",
		`wafbot_events_waiting_age_seconds{job="wafbot",instance="a",account="acme"}`:                "40x120",
		`wafbot_clock_offset_seconds{job="wafbot",instance="a",against="redis"}`:                     "-0.2x120",
		`wafbot_changes_total{job="wafbot",instance="a",verb="deny",outcome="done"}`:                 "0+3x120",
		`wafbot_changes_total{job="wafbot",instance="a",verb="deny",outcome="failed"}`:               "0x40 1x80",
		`wafbot_slack_calls_total{job="wafbot",instance="a",method="chat.update",outcome="ok"}`:      "0+9x120",
		`wafbot_slack_calls_total{job="wafbot",instance="a",method="chat.update",outcome="refused"}`: "0x30 0+1x90",
		`wafbot_config_last_reload_successful{job="wafbot",instance="a"}`:                            "1x120",
		`wafbot_pager_calls_total{job="wafbot",instance="a",account="acme",outcome="taken"}`:         "0+1x120",
		`wafbot_pager_calls_total{job="wafbot",instance="a",account="acme",outcome="failed"}`:        "0x40 1x80",
		`wafbot_pager_calls_total{job="wafbot",instance="a",account="acme",outcome="refused"}`:       "0x120",
	}
}

// fault is what else the series show from minute 60 on, and which alert fires by when.
type fault struct {
	series map[string]string // in place of the healthy ones; "": none
	alert  string            // "": none
	by     string
}

func faults() map[string]fault {
	const a, b = `{job="wafbot",instance="a"`, `{job="wafbot",instance="b"`
	const acme = a + `,account="acme"}`
	return map[string]fault{
		"a healthy hour": {by: "119m"},
		"no owner":       {map[string]string{"wafbot_account_owned" + acme: "1x60 0x60"}, "WafbotAccountNotWatched", "64m"},
		"a new owner": {map[string]string{
			"wafbot_account_owned" + acme: "1x60 0x60", "wafbot_account_owned" + b + `,account="acme"}`: "0x60 1x60",
		}, "", "110m"},
		"the service is away": {map[string]string{
			"wafbot_account_reachable" + acme: "1x60 0x20 1x40", "wafbot_account_last_good_poll_timestamp_seconds" + acme: "0+60x60 3600x20 4860+60x40",
			"wafbot_changes_total" + a + `,verb="deny",outcome="failed"}`: "0x60 0+2x20 40x40",
		}, "WafbotAccountNotWatched", "64m"},
		"the service is away, which changes find out first": {map[string]string{
			"wafbot_account_reachable" + acme: "1x61 0x20 1x39", "wafbot_changes_total" + a + `,verb="deny",outcome="failed"}`: "0x60 4x60",
		}, "WafbotAccountNotWatched", "65m"},
		"polls hang": {map[string]string{"wafbot_account_last_good_poll_timestamp_seconds" + acme: "0+60x60 3600x60"}, "WafbotPollLate", "66m"},
		"events wait": {map[string]string{
			"wafbot_events_waiting_age_seconds" + acme: "0x60 0+60x60",
		}, "WafbotEventsWaiting", "68m"},
		"slack is away": {map[string]string{
			"wafbot_events_waiting_age_seconds" + acme:                                      "0x60 0+60x60",
			"wafbot_slack_calls_total" + a + `,method="chat.update",outcome="ok"}`:          "0+9x60 540x60",
			"wafbot_slack_calls_total" + a + `,method="chat.postMessage",outcome="failed"}`: "_x60 1+5x60",
		}, "WafbotSlackRefusing", "70m"},
		"slack was away, and what waited is being posted": {map[string]string{
			"wafbot_events_waiting_age_seconds" + acme:                                      "0x60 0+60x24 0x40",
			"wafbot_slack_calls_total" + a + `,method="chat.update",outcome="ok"}`:          "0+9x60 540x14 549+9x45",
			"wafbot_slack_calls_total" + a + `,method="chat.postMessage",outcome="failed"}`: "_x60 1+5x13 66x50",
		}, "WafbotSlackRefusing", "70m"},
		"changes fail": {map[string]string{"wafbot_changes_total" + a + `,verb="deny",outcome="failed"}`: "0x60 0+1x60"}, "WafbotChangesFailing", "67m"},
		"the permission is lost": {map[string]string{
			"wafbot_account_permission_lost" + acme:                       "0x60 1x20 0x40",
			"wafbot_changes_total" + a + `,verb="deny",outcome="failed"}`: "0x60 0+1x20 20x40",
		}, "WafbotPermissionLost", "63m"},
		"the token is refused": {map[string]string{
			"wafbot_account_permission_lost" + acme: "0x60 1x60", "wafbot_account_reachable" + acme: "1x60 0x60",
			"wafbot_changes_total" + a + `,verb="deny",outcome="failed"}`: "0x60 0+1x60",
		}, "WafbotAccountNotWatched", "64m"},
		"redis is away": {map[string]string{
			"wafbot_redis_up" + a + "}": "1x60 0x60", "wafbot_redis_up" + b + "}": "1x60 0x60", "wafbot_replicas" + a + "}": "2x60 stale", "wafbot_replicas" + b + "}": "2x60 stale",
			"wafbot_account_owned" + acme: "1x60 0x60", "wafbot_account_reachable" + acme: "1x60 stale", "wafbot_account_last_good_poll_timestamp_seconds" + acme: "0+60x60 stale",
		}, "WafbotRedisDown", "63m"},
		"a clock is wrong": {map[string]string{
			"wafbot_clock_offset_seconds" + a + `,against="redis"}`: "0x60 -3600x60", "wafbot_account_last_good_poll_timestamp_seconds" + acme: "0+60x60 60+60x60",
		}, "WafbotClockWrong", "64m"},
		"slack refuses the app token": {map[string]string{
			"wafbot_receiving" + a + "}": "1x60 0x60", "wafbot_receiving" + b + "}": "1x60 0x60",
			"wafbot_socket_links" + a + "}": "2x60 0x60", "wafbot_socket_links" + b + "}": "2x60 0x60",
		}, "WafbotNothingReceived", "64m"},
		"links are renewed late": {map[string]string{
			"wafbot_receiving" + a + "}": "1x60 0x1 1x59", "wafbot_socket_links" + a + "}": "2x60 0x1 2x59",
		}, "", "110m"},
		"one replica has no link": {map[string]string{
			"wafbot_receiving" + a + "}": "1x60 0x60", "wafbot_socket_links" + a + "}": "2x60 0x60",
		}, "WafbotNoSocketLink", "64m"},
		"one replica died": {map[string]string{
			"up" + b + "}": "1x60 0x60", "wafbot_build_info" + b + "}": "1x60 stale", "wafbot_redis_up" + b + "}": "1x60 stale", "wafbot_replicas" + b + "}": "2x60 stale",
			"wafbot_replicas" + a + "}": "2x60 1x60", "wafbot_account_owned" + b + `,account="acme"}`: "0x60 stale",
		}, "WafbotReplicasMissing", "65m"},
		"the configuration is wrong": {map[string]string{"wafbot_config_last_reload_successful" + a + "}": "1x60 0x60"}, "WafbotConfigReloadFailed", "67m"},
		"a pager is dead":            {map[string]string{"wafbot_pager_calls_total" + a + `,account="acme",outcome="failed"}`: "0x60 0+1x60"}, "WafbotPagerFailing", "66m"},
		"a pager refuses us":         {map[string]string{"wafbot_pager_calls_total" + a + `,account="acme",outcome="refused"}`: "0x60 1x60"}, "WafbotPagerFailing", "63m"},
	}
}

// Each fault fires its alert and no other, and two healthy hours fire none: over series as they would be recorded.
func TestEachFaultFiresItsAlertAlone(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	names := []string{}
	for _, r := range rules(t) {
		names = append(names, r.Alert)
	}
	var tests []object
	covered := map[string]bool{}
	for name, f := range faults() {
		series := healthy()
		for s, values := range f.series {
			series[s] = values
		}
		var inputs, alerts []object
		for s, values := range series {
			inputs = append(inputs, object{"series": s, "values": values})
		}
		covered[f.alert] = true
		for _, alert := range names {
			if alert != f.alert {
				for _, at := range []string{"59m", f.by, "75m", "83m", "119m"} {
					alerts = append(alerts, object{"eval_time": at, "alertname": alert, "exp_alerts": []any{}})
				}
			}
		}
		if f.alert != "" {
			alerts = append(alerts, object{"eval_time": "59m", "alertname": f.alert, "exp_alerts": []any{}})
		}
		tests = append(tests, object{"name": name, "interval": "1m", "input_series": inputs, "alert_rule_test": alerts, "promql_expr_test": firing(f)})
	}
	require.Subset(t, keys(covered), names, "each alert has a fault")
	path, err := filepath.Abs(rulesFile)
	require.NoError(t, err)
	text, err := yaml.Dump(object{"rule_files": []string{path}, "evaluation_interval": "1m", "tests": tests})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "faults.yml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	promtool(t, "test", "rules", file)
}

// firing expects how many alerts of the fault's kind fired by then, whatever their labels and annotations, and none of
// another.
func firing(f fault) []map[string]any {
	if f.alert == "" {
		return nil
	}
	return []map[string]any{{
		"expr": `count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))`, "eval_time": f.by,
		"exp_samples": []map[string]any{{"labels": `{alertname="` + f.alert + `"}`, "value": 1}},
	}}
}

func keys(m map[string]bool) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
