package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
)

// sqli is an attack of 100 hits; one with a vulnerability is an incident.
func sqli(status, vuln string) apiclient.Attack {
	return apiclient.Attack{Type: "sqli", BlockStatus: status, VulnID: vuln, Hits: apiclient.Known(100)}
}

func TestTheRouteOfAnAttack(t *testing.T) {
	t.Parallel()
	all := Match{Kind: OneOrMore{KindAttack}, Type: OneOrMore{"xss", "sqli"}, Application: OneOrMore{"4", "-1"}, Host: OneOrMore{"a.example", "b.example"}, Status: OneOrMore{"partly"}, Severity: OneOrMore{"critical", "high"}, MinHits: 30}
	require.Equal(t, "kind attack, type xss or sqli, application 4 or -1, host a.example or b.example, status partly, severity critical or high, min_hits 30", (&Account{}).MatchText(all))
	require.Equal(t, "everything", (&Account{}).MatchText(Match{}))
	routes := []Route{
		{Match: Match{Kind: OneOrMore{KindIncident}}}, {Match: Match{Type: OneOrMore{"xss"}}}, {Match: Match{Application: OneOrMore{"9"}}}, {Match: Match{Host: OneOrMore{"a.example"}}},
		{Match: Match{Status: OneOrMore{"blocked"}}}, {Match: Match{Severity: OneOrMore{"low"}}}, {Match: Match{MinHits: 101}}, {Channel: "C1"}, {Channel: "C2"},
	}
	var why []string
	for _, tried := range (&Account{Routes: routes}).Tried(sqli("monitored", "")) {
		why = append(why, tried.Mismatch)
	}
	require.Equal(t, []string{"kind", "type", "application", "host", "status", "severity", "min_hits", ""}, why)
	require.Empty(t, (&Account{Routes: []Route{}}).Tried(sqli("monitored", "")))
	tried := (&Account{Routes: []Route{{Match: Match{Kind: OneOrMore{KindAttack}}}}}).Tried(sqli("monitored", "8"))
	require.Equal(t, []TriedRoute{{Route{Match: Match{Kind: OneOrMore{KindAttack}}}, "kind"}}, tried)
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	night := Quiet{Hours: "22:00-07:00"}
	noon := Quiet{Hours: "12:00-13:30"}
	for at, want := range map[string]struct{ night, noon bool }{
		"2026-11-20T20:59:59Z": {},
		"2026-11-20T21:00:00Z": {night: true}, // 22:00 in winter
		"2026-11-20T23:30:00Z": {night: true}, // past midnight
		"2026-11-21T05:59:59Z": {night: true},
		"2026-11-21T06:00:00Z": {},
		"2026-11-21T11:00:00Z": {noon: true},
		"2026-11-21T12:29:00Z": {noon: true},
		"2026-11-21T12:30:00Z": {},
		"2026-07-01T20:00:00Z": {night: true}, // 22:00 in summer
		"2026-07-01T05:00:00Z": {},
		"2026-07-01T10:00:00Z": {noon: true},
		"2026-03-28T21:00:00Z": {night: true}, // the night that summer time begins in is an hour shorter
		"2026-03-29T04:59:00Z": {night: true},
		"2026-03-29T05:00:00Z": {},
		"2026-10-24T20:00:00Z": {night: true}, // and the one that it ends in an hour longer
		"2026-10-25T05:59:00Z": {night: true},
		"2026-10-25T06:00:00Z": {},
	} {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, want.night, night.Suppresses(berlin, sqli("blocked", ""), when), "night %s", at)
		require.Equal(t, want.noon, noon.Suppresses(berlin, sqli("blocked", ""), when), "noon %s", at)
		require.False(t, Quiet{}.Suppresses(nil, sqli("blocked", ""), when), at)
	}
}

func TestWhatPingsInQuietHours(t *testing.T) {
	t.Parallel()
	incident, blocked := sqli("blocked", "8"), sqli("blocked", "")
	for _, tt := range []struct {
		a        apiclient.Attack
		suppress bool
	}{
		{incident, false},
		{sqli("monitored", ""), false},
		{blocked, true},
		{sqli("partially_blocked", ""), true},
		{sqli("?", ""), true},
		{sqli("?", "8"), false},
	} {
		q, noon := Quiet{Hours: "00:00-23:59"}, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		require.Equal(t, tt.suppress, q.Suppresses(nil, tt.a, noon), "%s %v", tt.a.BlockStatus, tt.a.Incident())
	}
}
