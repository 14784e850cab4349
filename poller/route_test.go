package poller

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// sqli is an attack hit a minute ago.
func sqli(change ...func(*apiclient.Attack)) apiclient.Attack {
	a := apiclient.Attack{
		ID: "x:1", Type: "sqli", First: noon.Add(-time.Hour), Last: noon.Add(-time.Minute), BlockStatus: "monitored",
		Hits: apiclient.Known(100), SourceCount: apiclient.Known(3), Payloads: apiclient.Known(5),
		Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Hits: apiclient.Known(60)}},
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

func hits(n int64) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Hits = apiclient.Known(n) }
}
func status(s string) func(*apiclient.Attack) { return func(a *apiclient.Attack) { a.BlockStatus = s } }
func vuln(id string) func(*apiclient.Attack)  { return func(a *apiclient.Attack) { a.VulnID = id } }
func unknownHits(a *apiclient.Attack)         { a.Hits = apiclient.Figure{} }

func TestRoutes(t *testing.T) {
	t.Parallel()
	app := func(id int64) func(*apiclient.Attack) {
		return func(a *apiclient.Attack) { a.App = apiclient.Known(id) }
	}
	host := func(a *apiclient.Attack) { a.Domain = "Shop.Example.com" }
	for name, tt := range map[string]struct {
		routes []config.Route
		attack apiclient.Attack
		want   string // channel; "": none
	}{
		"incident":                {attack: sqli(vuln("8"), status("blocked"), hits(1)), want: "C0"},
		"attack":                  {attack: sqli(hits(30)), want: "C0"},
		"partly blocked":          {attack: sqli(status("Partially Blocked")), want: "C0"},
		"odd status":              {attack: sqli(status("odd")), want: "C0"},
		"few hits":                {attack: sqli(hits(29))},
		"hits unknown":            {attack: sqli(unknownHits), want: "C0"},
		"fully blocked":           {attack: sqli(status("blocked"))},
		"no routes":               {routes: []config.Route{}, attack: sqli(vuln("8"))},
		"first match wins":        {routes: []config.Route{{Match: config.Match{Kind: config.OneOrMore{config.KindIncident}}, Channel: "C1"}, {Channel: "C2"}, {Channel: "C3"}}, attack: sqli(), want: "C2"},
		"attacks only":            {routes: []config.Route{{Match: config.Match{Kind: config.OneOrMore{config.KindAttack}}}}, attack: sqli(vuln("8"))},
		"type":                    {routes: []config.Route{{Match: config.Match{Type: config.OneOrMore{"xss"}}}, {Match: config.Match{Type: config.OneOrMore{"rce", "sqli"}}, Channel: "C1"}}, attack: sqli(), want: "C1"},
		"application":             {routes: []config.Route{{Match: config.Match{Application: config.OneOrMore{"4"}}}, {Match: config.Match{Application: config.OneOrMore{"-1", "5"}}, Channel: "C1"}}, attack: sqli(app(-1)), want: "C1"},
		"application unknown":     {routes: []config.Route{{Match: config.Match{Application: config.OneOrMore{"0"}}}}, attack: sqli()},
		"host, whatever its case": {routes: []config.Route{{Match: config.Match{Host: config.OneOrMore{"example.com"}}}, {Match: config.Match{Host: config.OneOrMore{"shop.example.COM"}}, Channel: "C1"}}, attack: sqli(host), want: "C1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, routed := New(Config{Account: &config.Account{Channel: "C0", Routes: tt.routes}}).cfg.route(tt.attack)
			require.Equal(t, tt.want != "", routed)
			require.Equal(t, tt.want, r.Channel)
		})
	}
}
