package compare

import (
	"cmp"
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
func codes(all ...int) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.StatusCodes = all }
}
func unknownHits(a *apiclient.Attack) { a.Hits = apiclient.Figure{} }
func noLast(a *apiclient.Attack)      { a.Last = time.Time{} }
func topIs(ip string) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Sources = []apiclient.Source{{IP: netip.MustParseAddr(ip)}} }
}
func hitAgo(d time.Duration) func(*apiclient.Attack) {
	return func(a *apiclient.Attack) { a.Last = noon.Add(-d) }
}

// notified is an attack as it is stored half a minute after an event.
func notified(change ...func(*apiclient.Attack)) record.AttackState {
	return After(record.AttackState{}, Observation{Attack: sqli(change...), At: noon.Add(-30 * time.Second), OngoingFor: 15 * time.Minute}, record.NewAttack)
}

// stops is an attack of which so many tries were seen stopped a while ago.
func stops(s record.AttackState, n int64) record.AttackState {
	s.Stopped = stoppedBy(n, noon.Add(-45*time.Second))
	return s
}

// stopped is an observation with so many tries that were stopped; more than three when the last came just now.
func stopped(o Observation, n int64) Observation {
	o.Stopped = stoppedBy(n, noon.Add(-45*time.Second+time.Duration(max(0, n-3))*time.Second))
	return o
}

func stoppedBy(n int64, last time.Time) *record.Stopped {
	return &record.Stopped{Sources: map[netip.Addr]record.Tally{netip.MustParseAddr("203.0.113.7"): {N: n, Last: last}}}
}

// slow is an attack with a hit each minute.
func slow(s record.AttackState) record.AttackState {
	s.Paused, s.History = false, []record.HitPoint{{At: 1000, Hits: 10}, {At: 1300, Hits: 15}}
	return s
}

func unpaused(s record.AttackState) record.AttackState { s.Paused = false; return s }
func paused(s record.AttackState) record.AttackState   { s.Paused = true; return s }
func older(s record.AttackState) record.AttackState {
	s.ObservedAt = noon.Add(-5 * time.Minute)
	return s
}
func only(s record.AttackState) record.AttackState  { s.Notified, s.Revision = false, 0; return s }
func quiet(s record.AttackState) record.AttackState { s.Quiet = true; return s }
func minuteOld(s record.AttackState) record.AttackState {
	s.ObservedAt = noon.Add(-time.Minute)
	return s
}
func baseline(s record.AttackState, b record.Baseline) record.AttackState { s.Baseline = b; return s }
func unrouted(o Observation) Observation                                  { o.Routed = false; return o }
func muted(o Observation) Observation                                     { o.Muted = func() bool { return true }; return o }
func trying(o Observation) Observation                                    { o.StillTrying = true; return o }
func observed(c ...func(*apiclient.Attack)) Observation {
	return Observation{Attack: sqli(c...), At: noon, OngoingFor: 15 * time.Minute, Routed: true}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	pausing, over, hour := hitAgo(2*time.Minute), hitAgo(15*time.Minute), hitAgo(time.Hour)
	five, ten := hitAgo(6*time.Minute), hitAgo(10*time.Minute)
	for name, tt := range map[string]struct {
		last     record.AttackState
		fresh    bool // nothing is known of it
		observed Observation
		want     record.EventKind
	}{
		"new attack":                               {fresh: true, observed: observed(), want: record.NewAttack},
		"new incident":                             {fresh: true, observed: observed(vuln("8")), want: record.NewIncident},
		"new but over: caught up":                  {fresh: true, observed: observed(hour), want: record.NewAttack},
		"new without a readable last hit":          {fresh: true, observed: observed(noLast), want: record.NewAttack},
		"new, no route":                            {fresh: true, observed: unrouted(observed())},
		"new, muted":                               {fresh: true, observed: muted(observed())},
		"known without card, muted":                {last: only(notified()), observed: muted(observed(hits(101)))},
		"worse, muted":                             {last: notified(status("blocked")), observed: muted(observed(hits(100_000)))},
		"over, muted":                              {last: notified(), observed: muted(observed(over))},
		"new, a false positive":                    {fresh: true, observed: observed(state("falsepositive"))},
		"new, a denied source":                     {fresh: true, observed: observed(typ(apiclient.TypeBlockedSource))},
		"new, a virtual patch at work":             {fresh: true, observed: observed(typ(apiclient.TypeVirtualPatch))},
		"known without card, now routed":           {last: only(notified()), observed: observed(hits(101)), want: record.NewAttack},
		"known without card, routed, same":         {last: only(notified()), observed: observed(), want: record.NewAttack},
		"known without card, over, same":           {last: only(notified(over)), observed: observed(over)},
		"known without card, over, fewer":          {last: only(notified(over)), observed: observed(over, hits(9))},
		"known without card, over, more":           {last: only(notified(over)), observed: observed(over, hits(101)), want: record.NewAttack},
		"known without card, over, was hit":        {last: only(notified(hour)), observed: observed(over), want: record.NewAttack},
		"known without card, over, let in":         {last: only(notified(over, status("blocked"))), observed: observed(over), want: record.NewAttack},
		"known without card, over, incident":       {last: only(notified(over)), observed: observed(over, vuln("8")), want: record.NewIncident},
		"known incident without card, over":        {last: only(notified(over, vuln("8"))), observed: observed(over, vuln("8"))},
		"known without card, incident, route":      {last: only(notified()), observed: unrouted(observed(vuln("8")))},
		"became incident":                          {last: notified(), observed: observed(vuln("8")), want: record.BecameIncident},
		"became incident, routes changed":          {last: notified(), observed: unrouted(observed(vuln("8"))), want: record.BecameIncident},
		"became incident, over":                    {last: notified(over), observed: observed(over, vuln("8")), want: record.BecameIncident},
		"incident as before":                       {last: notified(vuln("8")), observed: observed(vuln("8"))},
		"incident whose id was left out":           {last: baseline(notified(), record.Baseline{Incident: true}), observed: observed(vuln("8"))},
		"blocked to partly":                        {last: notified(status("blocked")), observed: observed(status("Partially Blocked")), want: record.Worsened},
		"blocked to let through":                   {last: notified(status("blocked")), observed: observed(), want: record.Worsened},
		"partly to let through":                    {last: notified(status("Partially Blocked")), observed: observed(), want: record.Worsened},
		"status unknown in between":                {last: baseline(notified(status("")), record.Baseline{Status: "blocked"}), observed: observed(), want: record.Worsened},
		"status becomes known":                     {last: notified(status("odd")), observed: observed()},
		"status becomes unknown":                   {last: notified(status("blocked")), observed: observed(status("odd"))},
		"status improves":                          {last: notified(), observed: observed(status("blocked"))},
		"status improves, a minute on":             {last: minuteOld(notified()), observed: observed(status("blocked")), want: record.Grew},
		"ten times the hits":                       {last: notified(), observed: observed(hits(1000)), want: record.Worsened},
		"ten times since the last mention":         {last: baseline(notified(hits(900)), record.Baseline{Hits: apiclient.Known(100)}), observed: observed(hits(1000)), want: record.Worsened},
		"ten times, but few":                       {last: notified(hits(10)), observed: observed(hits(999)), want: record.Grew},
		"many, but not ten times":                  {last: notified(hits(101)), observed: observed(hits(1009)), want: record.Grew},
		"hits become known":                        {last: notified(unknownHits), observed: observed(hits(5000))},
		"worse, though it looks over":              {last: notified(over), observed: observed(over, hits(1000)), want: record.Worsened},
		"same":                                     {last: minuteOld(notified(pausing)), observed: observed(pausing)},
		"it pauses":                                {last: minuteOld(notified()), observed: observed(), want: record.Grew},
		"it pauses, not a minute on":               {last: notified(), observed: observed()},
		"it pauses, muted":                         {last: minuteOld(notified()), observed: muted(observed())},
		"more hits at once":                        {last: notified(), observed: observed(hits(150))},
		"more hits, a minute on":                   {last: minuteOld(notified()), observed: observed(hits(101)), want: record.Grew},
		"twice the hits":                           {last: notified(), observed: observed(hits(200)), want: record.Grew},
		"fewer hits (sampling)":                    {last: minuteOld(notified(pausing)), observed: observed(pausing, hits(40))},
		"hits left out":                            {last: minuteOld(notified(pausing)), observed: observed(pausing, unknownHits)},
		"newer hit, a minute on":                   {last: minuteOld(notified(pausing)), observed: observed(), want: record.Grew},
		"more sources, a minute on":                {last: minuteOld(notified()), observed: observed(sources(4)), want: record.Grew},
		"more payloads, a minute on":               {last: minuteOld(notified()), observed: observed(payloads(6)), want: record.Grew},
		"an answer other than an error":            {last: minuteOld(notified(pausing)), observed: observed(pausing, codes(200, 500)), want: record.Grew},
		"an answer that is an error":               {last: minuteOld(notified(pausing)), observed: observed(pausing, codes(403, 500))},
		"other top source, a minute on":            {last: minuteOld(notified()), observed: observed(topIs("198.51.100.4")), want: record.Grew},
		"quiet":                                    {last: notified(), observed: observed(over), want: record.WentQuiet},
		"nearly quiet":                             {last: notified(), observed: observed(hitAgo(15*time.Minute - time.Second)), want: record.Grew},
		"quiet but still trying":                   {last: paused(notified()), observed: trying(observed(over))},
		"nothing through for its window":           {last: unpaused(notified(five)), observed: observed(five), want: record.Grew},
		"nearly so":                                {last: notified(), observed: observed(hitAgo(5*time.Minute - time.Second))},
		"nothing through, and it is blocked":       {last: notified(five, status("blocked")), observed: observed(five, status("blocked"))},
		"nothing through, status unknown":          {last: notified(five, status("odd")), observed: observed(five, status("odd"))},
		"nothing through as before":                {last: paused(minuteOld(notified(five))), observed: observed(five)},
		"nothing through, then a hit":              {last: paused(notified(five)), observed: observed(), want: record.Resumed},
		"nothing through, then a late hit":         {last: paused(notified(ten)), observed: observed(five)},
		"nothing through, then worse":              {last: paused(notified(five)), observed: observed(hits(1000)), want: record.Worsened},
		"a slow one":                               {last: slow(notified(five)), observed: observed(five)},
		"a slow one, at last":                      {last: slow(notified(ten)), observed: observed(hitAgo(14 * time.Minute)), want: record.Grew},
		"the first try that was stopped":           {last: notified(), observed: stopped(observed(), 1), want: record.Grew},
		"as many stopped as before":                {last: stops(minuteOld(notified(pausing)), 3), observed: stopped(observed(pausing), 3)},
		"twice as many stopped":                    {last: stops(notified(), 3), observed: stopped(observed(), 6)},
		"twice as many stopped, a minute on":       {last: stops(minuteOld(notified(pausing)), 3), observed: stopped(observed(pausing), 6), want: record.Grew},
		"some more stopped, a minute on":           {last: stops(minuteOld(notified(pausing)), 3), observed: stopped(observed(pausing), 4)},
		"some more stopped, five minutes on":       {last: paused(stops(older(notified(five)), 3)), observed: stopped(observed(five), 4), want: record.Grew},
		"over but for what is stopped":             {last: paused(stops(minuteOld(notified(over)), 3)), observed: stopped(observed(over), 4)},
		"over, and something is stopped":           {last: quiet(notified(over)), observed: stopped(observed(over), 4)},
		"quiet already":                            {last: quiet(notified(over)), observed: observed(over)},
		"last hit unreadable":                      {last: notified(), observed: observed(noLast)},
		"resumed":                                  {last: quiet(notified(hour)), observed: observed(), want: record.Resumed},
		"quiet, then still trying":                 {last: quiet(notified(over)), observed: trying(observed(over))},
		"quiet, hit meanwhile, over again":         {last: quiet(minuteOld(notified(hour))), observed: observed(over), want: record.Grew},
		"quiet, worse":                             {last: quiet(notified(hour)), observed: observed(hits(1000)), want: record.Worsened},
		"notified, marked as a false positive":     {last: notified(), observed: observed(state("FalsePositive"), over), want: record.Grew},
		"and muted":                                {last: notified(), observed: muted(observed(state("falsepositive")))},
		"a false positive as before, worse":        {last: minuteOld(notified(state("falsepositive"))), observed: observed(state("falsepositive"), hits(5000), vuln("8"))},
		"a false positive without a card":          {last: only(notified()), observed: observed(state("falsepositive"))},
		"no false positive any more":               {last: minuteOld(notified(state("falsepositive"))), observed: observed(), want: record.Grew},
		"nor any more, and worse":                  {last: notified(state("falsepositive")), observed: observed(hits(1000)), want: record.Worsened},
		"notified, clock of the service goes back": {last: minuteOld(notified()), observed: Observation{Attack: sqli(hits(101)), At: noon.Add(-time.Hour), OngoingFor: 15 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, suppressed := Event(tt.last, !tt.fresh, tt.observed)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.observed.Muted != nil, suppressed)
		})
	}
}

func TestAfterKeepsWhatWorseningIsMeasuredBy(t *testing.T) {
	t.Parallel()
	s := notified(status("blocked"))
	first := s.Revision
	s = After(s, observed(hits(500), status("")), record.Grew)
	require.Equal(t, record.Baseline{Hits: apiclient.Known(100), Status: "blocked"}, s.Baseline, "a redraw mentions no people")
	s = After(s, observed(hits(2000), vuln("8"), status("Partially Blocked")), record.BecameIncident)
	require.Equal(t, record.Baseline{Hits: apiclient.Known(2000), Status: "partly", Incident: true}, s.Baseline)
	require.Equal(t, first+2, s.Revision)
	require.False(t, s.Quiet)
	s = After(s, observed(hitAgo(time.Hour)), record.Worsened)
	require.True(t, s.Quiet, "worse and over is one event")
}

// Whatever the service says: the same observation again is no event, and each event raises the revision.
func TestAnObservationIsOneEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var last record.AttackState
		known := false
		at := noon
		for range rapid.IntRange(1, 12).Draw(t, "observations") {
			at = at.Add(time.Duration(rapid.IntRange(-30, 2000).Draw(t, "seconds")) * time.Second)
			l := drawObservation(t, at)
			kind, suppressed := Event(last, known, l)
			again, _ := Event(last, known, l)
			require.Equal(t, kind, again, "pure")
			require.False(t, suppressed && (kind != "" || l.Muted == nil))
			event := kind != ""
			if !event && known {
				continue
			}
			next := After(last, l, kind)
			require.Equal(t, event || last.Notified, next.Notified)
			if event {
				require.Equal(t, cmp.Or(last.Revision, int(at.Unix()))+1, next.Revision)
			}
			if second, _ := Event(next, true, l); second != "" {
				t.Fatalf("%s after %q of the same observation: %+v", second, kind, l)
			}
			last, known = next, true
		}
	})
}

func drawObservation(t *rapid.T, at time.Time) Observation {
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
	o := Observation{
		Attack: a, At: at, OngoingFor: 15 * time.Minute, StillTrying: rapid.Bool().Draw(t, "still trying"), Routed: rapid.Bool().Draw(t, "routed"),
	}
	if rapid.Bool().Draw(t, "muted") && !a.Incident() {
		o = muted(o)
	}
	return o
}
