package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/report"
)

func TestTrendsOfRowsThatAreOdd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	today, long := now.Truncate(24*time.Hour), apiclient.AttackDay{Day: now.Add(-30 * 24 * time.Hour), Type: "xss"}
	trend := report.Trends(now, 2, apiclient.AttackDays{More: true, Rows: []apiclient.AttackDay{
		{Day: today, Hosts: []string{"a", "b"}, Status: apiclient.StatusUnknown}, {Type: "sqli"}, {Day: today, Type: apiclient.TypeBlockedSource}, {Day: today, Type: apiclient.TypeVirtualPatch}, long,
		{Day: today.Add(24 * time.Hour), Type: "xss"},
	}}, apiclient.AttackDays{Rows: []apiclient.AttackDay{{Day: today.Add(-24 * time.Hour), Type: "xss", Status: apiclient.StatusBlocked}}})
	require.Equal(t, report.Trend{
		First: today.Add(-24 * time.Hour), Attacks: []int{1, 1}, CutAt: 6, Results: 2, Undated: 1,
		Types:    []report.Series{{Name: "", Attacks: []int{0, 1}}, {Name: "xss", Attacks: []int{1, 0}}},
		Statuses: []report.Series{{Name: "blocked", Attacks: []int{1, 0}}, {Name: "unknown", Attacks: []int{0, 1}}},
		Hosts:    []report.Series{{Name: "", Attacks: []int{1, 0}}, {Name: "a", Attacks: []int{0, 1}}, {Name: "b", Attacks: []int{0, 1}}},
	}, trend)
}
