package commands_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

const aggregation = "POST /v1/client/5/attack-vectors/security-agg/query"

// started starts an attack of a type that ends at once, on a path of its own.
func (w *world) started(attackType, host string) {
	w.t.Helper()
	w.ids++
	_, err := w.service.StartAttack(waf.AttackSpec{App: 4, Type: attackType, Host: host, Path: fmt.Sprint("/t", w.ids), Hits: 1, Lasts: waf.Duration(time.Millisecond)})
	require.NoError(w.t, err)
}

// aWeek has attacks on several days, up to 20 November at 3 o'clock.
func aWeek(t *testing.T) *world {
	w := newWorld(t)
	w.now = w.now.Add(-7 * 24 * time.Hour)
	for day, types := range [][]string{
		{"sqli"}, {}, {"xss", "xss", "rce"}, {"sqli", "scanner", "xss", "ptrav", "crlf", "redir"}, {"sqli"}, {"xss", "sqli"}, {"sqli"}, {"sqli"},
	} {
		for i, kind := range types {
			host := ""
			if i%2 == 1 {
				host = fmt.Sprintf("h%d.example.com", day)
			}
			w.started(kind, host)
		}
		if day < 7 {
			w.pass(24 * time.Hour)
		}
	}
	return w
}

func TestTrends(t *testing.T) {
	t.Parallel()
	w := aWeek(t)
	golden(t, "trends.txt", textOf(w.reads(eve, "trends"))+"\n")
	require.Equal(t, textOf(w.reads(eve, "trends")), textOf(w.reads(eve, "trends since=7d")))
	golden(t, "trends-1d.txt", textOf(w.reads(eve, "trends since=24h"))+"\n")
	require.Contains(t, textOf(w.reads(eve, "trends since=25h")), "19 Nov to 20 Nov (UTC): ", "whole days")
	for _, long := range []string{"8d", "1w1d", "forever"} {
		w.refuses(eve, "trends since="+long, refusal.ErrUsage, "The service goes back 7 days. Example: since=7d")
	}
	w.refuses(eve, "trends since=soon", refusal.ErrUsage, "Invalid duration: soon")

	data := w.program("trends since=2d")["data"].(map[string]any)
	require.Equal(t, "2026-11-19T00:00:00Z", data["first_day"])
	require.Equal(t, []any{1.0, 1.0}, data["attacks"])
	require.Equal(t, []any{map[string]any{"name": "sqli", "attacks": []any{1.0, 1.0}}}, data["types"])
	require.Equal(t, []any{map[string]any{"name": "not_blocked", "attacks": []any{1.0, 1.0}}}, data["statuses"])
}

func TestTrendsAtMidnight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pass(21 * time.Hour)
	require.Contains(t, textOf(w.reads(eve, "trends since=1d")), "21 Nov (UTC): none")
}

func TestTrendsOfAQuietWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, "acme: attacks per day, 14 Nov to 20 Nov (UTC): none", textOf(w.reads(eve, "trends")))
	require.Equal(t, []any{}, w.program("trends")["data"].(map[string]any)["hosts"])
}

// What attackers wrote into the Host header is text.
func TestTrendsShowHostileHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.started("sqli", "evil\u202e<!channel>"+strings.Repeat("a", 1000))
	shown := textOf(w.reads(eve, "trends"))
	require.Contains(t, shown, `evil\u{202e}<!channel>aaa`)
	require.Less(t, len(shown), 1000)
}

// More than a page of rows is read by cursor, each row once.
func TestTrendsOfManyAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 250 {
		w.started("xss", "")
	}
	require.Contains(t, textOf(w.reads(eve, "trends since=1d")), "20 Nov (UTC): 250 today so far")
	require.Equal(t, 3, w.state().Requests[aggregation])
}

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

func TestTrendsWhereTheServiceRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault(aggregation, "status:403", 0)
	w.refuses(eve, "trends", refusal.ErrService, "lacks the permission")
	for _, line := range []string{"status", "summary"} {
		require.Contains(t, textOf(w.reads(eve, line)), "Attacks per day: unknown just now, type trends", line)
	}
}

// Home and the summary have a line of it.
func TestTheTrendInOverviews(t *testing.T) {
	t.Parallel()
	w := aWeek(t)
	const line = "Attacks per day ▁▅█▃▄▃▃ 14 Nov to 20 Nov (UTC): most 6 on Mon 16 Nov, 1 today so far"
	for _, typed := range []string{"status", "summary"} {
		res := w.reads(eve, typed)
		require.Contains(t, textOf(res), line, typed)
		require.Equal(t, 1, strings.Count(textOf(res), "Attacks per day"))
	}
	home := w.reads(eve, "status").Home.(*report.Home)
	require.True(t, slices.ContainsFunc(home.Parts(true), func(p call.Part) bool { return p.Title.String() == line }))
}

// A service that hangs on the trend alone holds an overview up for a second.
func TestOverviewsHardlyWaitForTheTrend(t *testing.T) {
	for _, line := range []string{"status", "summary"} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			w.fault(aggregation, "hang", 0)
			began := time.Now()
			require.Contains(t, textOf(w.reads(eve, line)), "Attacks per day: unknown just now, type trends", line)
			require.Equal(t, time.Second, time.Since(began), line)
		})
	}
}

// Of several accounts those are counted whose services answer.
func TestTheTrendOfSeveralAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		second := *c.Accounts[0]
		second.Name = "globex"
		c.Accounts = append(c.Accounts, &second)
		gives(c, "globex", figures{err: &apiclient.Error{Op: "query attacks by day", Kind: apiclient.Forbidden}})
	})
	w.started("sqli", "")
	require.Contains(t, textOf(w.reads(eve, "status")), "20 Nov (UTC): 1 today so far; unknown just now of 1 account\n")
}

// figures is a service that answers so.
type figures struct {
	commands.Writer
	read apiclient.AttackDays
	err  error
}

func (f figures) AttackDays(context.Context, int) (apiclient.AttackDays, error) { return f.read, f.err }

// gives has an account's service answer so.
func gives(c *commands.Config, account string, f figures) {
	f.Writer = c.Services["acme"].Writer
	c.Services[account] = commands.Service{Lister: c.Services["acme"].Lister, Writer: f}
}

// Figures of a part of the rows are called that, and an overview has none.
func TestTrendsThatAreCut(t *testing.T) {
	t.Parallel()
	rows := make([]apiclient.AttackDay, 10_000)
	for i := range rows {
		rows[i] = apiclient.AttackDay{Day: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Type: "xss"}
	}
	w := newWorld(t, func(c *commands.Config) {
		gives(c, "acme", figures{read: apiclient.AttackDays{Rows: rows, More: true}})
	})
	shown := textOf(w.reads(eve, "trends since=1d"))
	require.Contains(t, shown, "acme: attacks per day, 20 Nov (UTC), of the first 10,000 rows: 10,000 today so far\n")
	require.Contains(t, shown, "The service has more rows than wafbot reads at once: trends since=1d asks for the fewest")
	require.Equal(t, 10_000.0, w.program("trends")["data"].(map[string]any)["cut_at"])
	require.Contains(t, textOf(w.reads(eve, "status")), "Attacks per day: unknown just now, type trends")
}
