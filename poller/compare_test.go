package poller

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
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
func typ(s string) func(*apiclient.Attack)    { return func(a *apiclient.Attack) { a.Type = s } }
func state(s string) func(*apiclient.Attack)  { return func(a *apiclient.Attack) { a.State = s } }
func vuln(id string) func(*apiclient.Attack)  { return func(a *apiclient.Attack) { a.VulnID = id } }
func sources(n int64) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.SourceCount = apiclient.Known(n) }
}
func payloads(n int64) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Payloads = apiclient.Known(n) }
}
func unknownHits(a *apiclient.Attack) { a.Hits = apiclient.Figure{} }
func noLast(a *apiclient.Attack)      { a.Last = time.Time{} }
func topIs(ip string) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Sources = []apiclient.Source{{IP: netip.MustParseAddr(ip)}} }
}
func hitAgo(d time.Duration) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Last = noon.Add(-d) }
}

// told is an attack as remembered after it was told half a minute ago.
func told(change ...func(*apiclient.Attack)) record.AttackState {
	return after(record.AttackState{}, Look{Attack: sqli(change...), At: noon.Add(-30 * time.Second), OngoingFor: 15 * time.Minute}, record.NewAttack)
}

func only(s record.AttackState) record.AttackState  { s.Notified, s.Revision = false, 0; return s }
func quiet(s record.AttackState) record.AttackState { s.Quiet = true; return s }
func minuteOld(s record.AttackState) record.AttackState {
	s.ObservedAt = noon.Add(-time.Minute)
	return s
}
func base(s record.AttackState, b record.Baseline) record.AttackState { s.Baseline = b; return s }
func unrouted(l Look) Look                                            { l.Routed = false; return l }
func muted(l Look) Look                                               { l.Muted = true; return l }
func knocking(l Look) Look                                            { l.Knocking = true; return l }
func look(c ...func(*apiclient.Attack)) Look {
	return Look{Attack: sqli(c...), At: noon, OngoingFor: 15 * time.Minute, Routed: true}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	pausing, over, hour := hitAgo(2*time.Minute), hitAgo(15*time.Minute), hitAgo(time.Hour)
	for name, tt := range map[string]struct {
		last  record.AttackState
		fresh bool // nothing is known of it
		look  Look
		want  record.EventKind
	}{
		"new attack":                           {fresh: true, look: look(), want: record.NewAttack},
		"new incident":                         {fresh: true, look: look(vuln("8")), want: record.NewIncident},
		"new but over: caught up":              {fresh: true, look: look(hour), want: record.NewAttack},
		"new without a readable last hit":      {fresh: true, look: look(noLast), want: record.NewAttack},
		"new, no route":                        {fresh: true, look: unrouted(look())},
		"new, muted":                           {fresh: true, look: muted(look())},
		"known without card, muted":            {last: only(told()), look: muted(look(hits(101)))},
		"worse, muted":                         {last: told(status("blocked")), look: muted(look(hits(100_000)))},
		"over, muted":                          {last: told(), look: muted(look(over))},
		"new, a false positive":                {fresh: true, look: look(state("falsepositive"))},
		"new, a denied source":                 {fresh: true, look: look(typ(apiclient.TypeBlockedSource))},
		"new, a virtual patch at work":         {fresh: true, look: look(typ(apiclient.TypeVirtualPatch))},
		"known without card, now routed":       {last: only(told()), look: look(hits(101)), want: record.NewAttack},
		"known without card, routed, same":     {last: only(told()), look: look(), want: record.NewAttack},
		"known without card, over, same":       {last: only(told(over)), look: look(over)},
		"known without card, over, fewer":      {last: only(told(over)), look: look(over, hits(9))},
		"known without card, over, more":       {last: only(told(over)), look: look(over, hits(101)), want: record.NewAttack},
		"known without card, over, was hit":    {last: only(told(hour)), look: look(over), want: record.NewAttack},
		"known without card, over, let in":     {last: only(told(over, status("blocked"))), look: look(over), want: record.NewAttack},
		"known without card, over, incident":   {last: only(told(over)), look: look(over, vuln("8")), want: record.NewIncident},
		"known incident without card, over":    {last: only(told(over, vuln("8"))), look: look(over, vuln("8"))},
		"known without card, incident, route":  {last: only(told()), look: unrouted(look(vuln("8")))},
		"became incident":                      {last: told(), look: look(vuln("8")), want: record.BecameIncident},
		"became incident, routes changed":      {last: told(), look: unrouted(look(vuln("8"))), want: record.BecameIncident},
		"became incident, over":                {last: told(over), look: look(over, vuln("8")), want: record.BecameIncident},
		"incident as before":                   {last: told(vuln("8")), look: look(vuln("8"))},
		"incident whose id was left out":       {last: base(told(), record.Baseline{Incident: true}), look: look(vuln("8"))},
		"blocked to partly":                    {last: told(status("blocked")), look: look(status("Partially Blocked")), want: record.Worsened},
		"blocked to let through":               {last: told(status("blocked")), look: look(), want: record.Worsened},
		"partly to let through":                {last: told(status("Partially Blocked")), look: look(), want: record.Worsened},
		"status unknown in between":            {last: base(told(status("")), record.Baseline{Status: "blocked"}), look: look(), want: record.Worsened},
		"status becomes known":                 {last: told(status("odd")), look: look()},
		"status becomes unknown":               {last: told(status("blocked")), look: look(status("odd"))},
		"status improves":                      {last: told(), look: look(status("blocked"))},
		"status improves, a minute on":         {last: minuteOld(told()), look: look(status("blocked")), want: record.Grew},
		"ten times the hits":                   {last: told(), look: look(hits(1000)), want: record.Worsened},
		"ten times since people were called":   {last: base(told(hits(900)), record.Baseline{Hits: apiclient.Known(100)}), look: look(hits(1000)), want: record.Worsened},
		"ten times, but few":                   {last: told(hits(10)), look: look(hits(999)), want: record.Grew},
		"many, but not ten times":              {last: told(hits(101)), look: look(hits(1009)), want: record.Grew},
		"hits become known":                    {last: told(unknownHits), look: look(hits(5000))},
		"worse, though it looks over":          {last: told(over), look: look(over, hits(1000)), want: record.Worsened},
		"same":                                 {last: minuteOld(told(pausing)), look: look(pausing)},
		"it pauses":                            {last: minuteOld(told()), look: look(), want: record.Grew},
		"it pauses, not a minute on":           {last: told(), look: look()},
		"it pauses, muted":                     {last: minuteOld(told()), look: muted(look())},
		"more hits at once":                    {last: told(), look: look(hits(150))},
		"more hits, a minute on":               {last: minuteOld(told()), look: look(hits(101)), want: record.Grew},
		"twice the hits":                       {last: told(), look: look(hits(200)), want: record.Grew},
		"fewer hits (sampling)":                {last: minuteOld(told(pausing)), look: look(pausing, hits(40))},
		"hits left out":                        {last: minuteOld(told(pausing)), look: look(pausing, unknownHits)},
		"newer hit, a minute on":               {last: minuteOld(told(over)), look: look(), want: record.Grew},
		"more sources, a minute on":            {last: minuteOld(told()), look: look(sources(4)), want: record.Grew},
		"more payloads, a minute on":           {last: minuteOld(told()), look: look(payloads(6)), want: record.Grew},
		"other top source, a minute on":        {last: minuteOld(told()), look: look(topIs("198.51.100.4")), want: record.Grew},
		"quiet":                                {last: told(), look: look(over), want: record.WentQuiet},
		"nearly quiet":                         {last: told(), look: look(hitAgo(15*time.Minute - time.Second))},
		"quiet but knocking":                   {last: told(), look: knocking(look(over))},
		"quiet already":                        {last: quiet(told(over)), look: look(over)},
		"last hit unreadable":                  {last: told(), look: look(noLast)},
		"resumed":                              {last: quiet(told(hour)), look: look(), want: record.Resumed},
		"quiet, then knocking":                 {last: quiet(told(over)), look: knocking(look(over))},
		"quiet, hit meanwhile, over again":     {last: quiet(minuteOld(told(hour))), look: look(over), want: record.Grew},
		"quiet, worse":                         {last: quiet(told(hour)), look: look(hits(1000)), want: record.Worsened},
		"told, marked as a false positive":     {last: told(), look: look(state("FalsePositive"), over), want: record.Grew},
		"and muted":                            {last: told(), look: muted(look(state("falsepositive")))},
		"a false positive as before, worse":    {last: minuteOld(told(state("falsepositive"))), look: look(state("falsepositive"), hits(5000), vuln("8"))},
		"a false positive without a card":      {last: only(told()), look: look(state("falsepositive"))},
		"no false positive any more":           {last: minuteOld(told(state("falsepositive"))), look: look(), want: record.Grew},
		"nor any more, and worse":              {last: told(state("falsepositive")), look: look(hits(1000)), want: record.Worsened},
		"told, clock of the service goes back": {last: minuteOld(told()), look: Look{Attack: sqli(hits(101)), At: noon.Add(-time.Hour), OngoingFor: 15 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, news := compare(tt.last, !tt.fresh, tt.look)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", news)
		})
	}
}

func TestAfterKeepsWhatWorseningIsMeasuredBy(t *testing.T) {
	t.Parallel()
	s := told(status("blocked"))
	s = after(s, look(hits(500), status("")), record.Grew)
	require.Equal(t, record.Baseline{Hits: apiclient.Known(100), Status: "blocked"}, s.Baseline, "a redraw calls nobody")
	s = after(s, look(hits(2000), vuln("8"), status("Partially Blocked")), record.BecameIncident)
	require.Equal(t, record.Baseline{Hits: apiclient.Known(2000), Status: "partly", Incident: true}, s.Baseline)
	require.Equal(t, 3, s.Revision)
	require.False(t, s.Quiet)
	s = after(s, look(hitAgo(time.Hour)), record.Worsened)
	require.True(t, s.Quiet, "worse and over is one piece of news")
}

// Whatever the service says: what has been told is no news again, and news always moves the revision on.
func TestCompareTellsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var last record.AttackState
		known := false
		at := noon
		for range rapid.IntRange(1, 12).Draw(t, "looks") {
			at = at.Add(time.Duration(rapid.IntRange(-30, 2000).Draw(t, "seconds")) * time.Second)
			l := drawLook(t, at)
			reason, news := compare(last, known, l)
			again, _ := compare(last, known, l)
			require.Equal(t, reason, again, "pure")
			require.Equal(t, news, reason != "")
			if !news && known {
				continue
			}
			next := after(last, l, reason)
			require.Equal(t, news || last.Notified, next.Notified)
			if news {
				require.Equal(t, last.Revision+1, next.Revision)
			}
			if second, more := compare(next, true, l); more {
				t.Fatalf("%s after %q of the same look: %+v", second, reason, l)
			}
			last, known = next, true
		}
	})
}

func drawLook(t *rapid.T, at time.Time) Look {
	figure := rapid.Custom(func(t *rapid.T) apiclient.Figure {
		n := rapid.SampledFrom([]int64{0, 1, 29, 30, 99, 100, 999, 1000, 10000, 1 << 62}).Draw(t, "n")
		return apiclient.Figure{N: n, Known: rapid.Bool().Draw(t, "known")}
	})
	a := apiclient.Attack{
		ID: "x:1", Hits: figure.Draw(t, "hits"), SourceCount: figure.Draw(t, "sources"), Payloads: figure.Draw(t, "payloads"),
		Type:        rapid.SampledFrom([]string{"sqli", "sqli", "sqli", apiclient.TypeBlockedSource}).Draw(t, "type"),
		BlockStatus: rapid.SampledFrom([]string{"", "odd", "blocked", "monitored", "Partially Blocked"}).Draw(t, "status"),
		VulnID:      rapid.SampledFrom([]string{"", "", "8"}).Draw(t, "vuln"),
		State:       rapid.SampledFrom([]string{"", "", "", "falsepositive"}).Draw(t, "state"),
	}
	if rapid.IntRange(0, 9).Draw(t, "last known") > 0 {
		a.Last = at.Add(-time.Duration(rapid.IntRange(-5, 2000).Draw(t, "ago")) * time.Second)
	}
	if n := rapid.IntRange(0, 2).Draw(t, "top"); n > 0 {
		a.Sources = []apiclient.Source{{IP: netip.MustParseAddr(fmt.Sprintf("203.0.113.%d", n))}}
	}
	return Look{Attack: a, At: at, OngoingFor: 15 * time.Minute,
		Knocking: rapid.Bool().Draw(t, "knocking"), Routed: rapid.Bool().Draw(t, "routed"), Muted: rapid.Bool().Draw(t, "muted") && !a.Incident()}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	all := Match{Kind: KindAttack, Types: []string{"xss", "sqli"}, Apps: []int{4, -1}, Hosts: []string{"a.example", "b.example"}, Status: []apiclient.Status{"partly"}, MinHits: 30}
	require.Equal(t, "kind attack, type xss or sqli, application 4 or -1, host a.example or b.example, status partly, min_hits 30", all.String())
	require.Equal(t, "everything", Match{}.String())
	routes := []Route{
		{Match: Match{Kind: KindIncident}}, {Match: Match{Types: []string{"xss"}}}, {Match: Match{Apps: []int{9}}}, {Match: Match{Hosts: []string{"a.example"}}},
		{Match: Match{Status: []apiclient.Status{apiclient.StatusBlocked}}}, {Match: Match{MinHits: 101}}, {Channel: "C1"}, {Channel: "C2"},
	}
	var why []string
	for _, tried := range Explain(routes, sqli()) {
		why = append(why, tried.Mismatch)
	}
	require.Equal(t, []string{"kind", "type", "application", "host", "status", "min_hits", ""}, why)
	require.Empty(t, Explain(nil, sqli()))
	tried := Explain([]Route{{Match: Match{Kind: KindAttack}}}, sqli(vuln("8")))
	require.Equal(t, []TriedRoute{{Route{Match: Match{Kind: KindAttack}}, "kind"}}, tried)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	app := func(id int64) func(*apiclient.Attack) {
		return func(a *apiclient.Attack) { a.App = apiclient.Known(id) }
	}
	host := func(a *apiclient.Attack) { a.Domain = "Shop.Example.com" }
	for name, tt := range map[string]struct {
		routes []Route
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
		"no routes":               {routes: []Route{}, attack: sqli(vuln("8"))},
		"first match wins":        {routes: []Route{{Match: Match{Kind: KindIncident}, Channel: "C1"}, {Channel: "C2"}, {Channel: "C3"}}, attack: sqli(), want: "C2"},
		"attacks only":            {routes: []Route{{Match: Match{Kind: KindAttack}}}, attack: sqli(vuln("8"))},
		"type":                    {routes: []Route{{Match: Match{Types: []string{"xss"}}}, {Match: Match{Types: []string{"rce", "sqli"}}, Channel: "C1"}}, attack: sqli(), want: "C1"},
		"application":             {routes: []Route{{Match: Match{Apps: []int{4}}}, {Match: Match{Apps: []int{-1, 5}}, Channel: "C1"}}, attack: sqli(app(-1)), want: "C1"},
		"application unknown":     {routes: []Route{{Match: Match{Apps: []int{0}}}}, attack: sqli()},
		"host, whatever its case": {routes: []Route{{Match: Match{Hosts: []string{"example.com"}}}, {Match: Match{Hosts: []string{"shop.example.COM"}}, Channel: "C1"}}, attack: sqli(host), want: "C1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, routed := New(Config{Channel: "C0", Routes: tt.routes}).route(tt.attack)
			require.Equal(t, tt.want != "", routed)
			require.Equal(t, tt.want, r.Channel)
		})
	}
}
