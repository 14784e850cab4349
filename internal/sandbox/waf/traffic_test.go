package waf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// sent plays d and returns what became of each source's hits of the first attack meanwhile.
func (w *world) sent(d time.Duration) map[string]waf.Totals {
	w.t.Helper()
	became := map[string]waf.Totals{}
	before := w.state().Attacks[0].Sources
	w.pass(d)
	for i, s := range w.state().Attacks[0].Sources {
		became[s.IP] = waf.Totals{Through: s.Through - before[i].Through, Blocked: s.Blocked - before[i].Blocked}
	}
	return became
}

func twoSources() waf.AttackSpec {
	return waf.AttackSpec{Sources: []waf.SourceSpec{
		{IP: "203.0.113.7", Country: "FR", PerSecond: 4, Headers: map[string]string{"User-Agent": "sqlmap/1.8"}},
		{IP: "203.0.113.8", Country: "DE", PerSecond: 1, Datacenter: "aws"},
	}}
}

func TestDeniedSourceKeepsTrying(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	entry := w.add("black", "203.0.113.7")
	require.Equal(t, map[string]waf.Totals{"203.0.113.7": {Through: 240}, "203.0.113.8": {Through: 60}}, w.sent(time.Minute), "not yet")
	hits := w.state().Attacks[0].Hits
	require.Equal(t, map[string]waf.Totals{"203.0.113.7": {Blocked: 240}, "203.0.113.8": {Through: 60}}, w.sent(time.Minute))
	require.EqualValues(t, hits+60, w.state().Attacks[0].Hits, "denied hits leave the attack's record")
	require.Equal(t, "monitored", w.state().Attacks[0].BlockStatus)

	denied := w.list(attacks, `{"filter":{"clientid":[5]}}`)[1]
	require.Equal(t, "blocked_source", denied["type"])
	require.Equal(t, "blocked", denied["block_status"])
	require.Len(t, denied["ip_top"], 1)
	require.Equal(t, "203.0.113.7", denied["ip_top"].([]any)[0].(map[string]any)["ip"])
	reported := denied["hits"].(float64)
	require.Less(t, reported, 60.0, "most identical hits aren't reported")
	w.pass(time.Minute)
	require.Greater(t, w.list(attacks, `{"filter":{"clientid":[5]}}`)[1]["hits"], reported)

	w.body("DELETE", "/v4/ip_rules", fmt.Sprintf(`{"filter":{"clientid":5,"id":[%v]}}`, entry["id"]))
	require.EqualValues(t, 240, w.sent(time.Minute)["203.0.113.7"].Blocked, "removing takes as long")
	require.EqualValues(t, 240, w.sent(time.Minute)["203.0.113.7"].Through)
}

func TestExpiredDenialEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	w.add("black", "203.0.113.7")
	w.pass(time.Hour)
	require.Equal(t, waf.Totals{Blocked: 240}, w.sent(time.Minute)["203.0.113.7"], "the nodes learn of it as late as of a removal")
	require.Equal(t, waf.Totals{Through: 240}, w.sent(time.Minute)["203.0.113.7"])
}

func TestOverwrittenDenialKeepsItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	w.add("black", "203.0.113.7")
	w.body("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, true))
	require.Equal(t, waf.Totals{Through: 240}, w.sent(time.Minute)["203.0.113.7"], "not earlier")
	w.body("POST", "/v4/ip_rules", w.entry("black", `"ip_range","subnet":"203.0.113.7"`, true))
	require.Equal(t, waf.Totals{Blocked: 40}, w.sent(10 * time.Second)["203.0.113.7"])
}

func TestDeniedOtherSourcesAreNotReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{OtherSources: 20, Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 100}}})
	w.body("POST", "/v4/ip_rules", w.entry("black", `"country","source_values":["BR","DE","ID","US","VN"]`, false))
	w.pass(2 * time.Minute)
	require.NotZero(t, w.state().Attacks[0].OtherSources.Blocked)
	require.Len(t, w.list(attacks, `{"filter":{"clientid":[5]}}`), 1)
}

func TestListsPrecedence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	w.add("black", "203.0.113.0/24")
	w.add("white", "203.0.113.7")
	w.pass(time.Minute)
	require.Equal(t, map[string]waf.Totals{"203.0.113.7": {Through: 40}, "203.0.113.8": {Blocked: 10}}, w.sent(10*time.Second))
}

func TestEntriesByKindOfSource(t *testing.T) {
	t.Parallel()
	for what, blocked := range map[string]string{
		`"country","source_values":["FR","US"]`: "203.0.113.7",
		`"datacenter","source_values":["aws"]`:  "203.0.113.8",
	} {
		w := newWorld(t)
		w.start(twoSources())
		w.body("POST", "/v4/ip_rules", w.entry("black", what, false))
		w.pass(time.Minute)
		for ip, became := range w.sent(10 * time.Second) {
			require.Equal(t, ip == blocked, became.Blocked > 0, what)
		}
	}
}

func TestEntryForAnotherApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	body := strings.Replace(w.entry("black", `"ip_range","subnet":"203.0.113.7"`, false), `[0]`, `[7]`, 1)
	w.body("POST", "/v4/ip_rules", body)
	w.pass(time.Minute)
	require.Zero(t, w.sent(10 * time.Second)["203.0.113.7"].Blocked)
	w.add("black", "203.0.113.7")
	w.pass(time.Minute)
	require.NotZero(t, w.sent(10 * time.Second)["203.0.113.7"].Blocked)
}

func TestPatchBlocksOnlyWhatItCovers(t *testing.T) {
	t.Parallel()
	const part = `[["post"],["form_urlencoded","login"]]`
	for name, c := range map[string]struct {
		patch  string
		blocks bool
	}{
		"this part and type":  {patch(part, "sqli", onLogin), true},
		"this part, any type": {patch(part, "any", onLogin), true},
		"everywhere":          {patch(part, "sqli", `[]`), true},
		"host, any type":      {patch(`[["header","HOST"]]`, "any", onLogin), true},
		"host, this type":     {patch(`[["header","HOST"]]`, "sqli", onLogin), false},
		"another type":        {patch(part, "xss", onLogin), false},
		"another part":        {patch(`[["get","login"]]`, "sqli", onLogin), false},
		"another path":        {patch(part, "sqli", strings.Replace(onLogin, `"login"`, `"logout"`, 1)), false},
		"another host":        {patch(part, "sqli", strings.Replace(onLogin, "SHOP", "old", 1)), false},
		"another application": {patch(part, "sqli", strings.Replace(onLogin, `"4"`, `"7"`, 1)), false},
		"another method":      {patch(part, "sqli", `[{"type":"equal","value":"GET","point":["method"]}]`), false},
		"below the path":      {patch(part, "sqli", `[{"type":"equal","value":"login","point":["path",0]}]`), false},
		"path by regex":       {patch(part, "sqli", `[{"type":"regex","value":"^/log","point":["uri"]}]`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start(waf.AttackSpec{})
			w.createRule(c.patch)
			w.pass(3 * time.Minute)
			became := w.sent(10 * time.Second)["203.0.113.7"]
			if !c.blocks {
				require.Equal(t, waf.Totals{Through: 20}, became)
				return
			}
			require.Equal(t, waf.Totals{Blocked: 20}, became)
			records := w.list(attacks, `{"filter":{"clientid":[5]}}`)
			require.Len(t, records, 2, "patched hits leave the attack's record for one of their own")
			require.Equal(t, "monitored", records[0]["block_status"])
			require.EqualValues(t, w.state().Attacks[0].Hits, records[0]["hits"])
			patched := records[1]
			require.Equal(t, "vpatch", patched["type"])
			require.Equal(t, "blocked", patched["block_status"])
			require.EqualValues(t, 20, patched["hits"])
			require.Equal(t, records[0]["path"], patched["path"])
			require.Equal(t, []any{403.0}, patched["statuscodes"])
		})
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode, attackType string
		gray, blocks     bool
	}{
		"monitoring":                 {"monitoring", "sqli", true, false},
		"block":                      {"block", "sqli", false, true},
		"block, requests look clean": {"block", "brute", false, false},
		"safe blocking":              {"safe_blocking", "sqli", false, false},
		"safe blocking, graylisted":  {"safe_blocking", "sqli", true, true},
		"default":                    {"default", "sqli", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start(waf.AttackSpec{Type: c.attackType})
			if c.gray {
				w.add("gray", "203.0.113.7")
			}
			w.createRule(fmt.Sprintf(`{"clientid":5,"type":"service_mode","mode":%q,"validated":false,"action":%s}`, c.mode, onShop))
			w.pass(3 * time.Minute)
			require.Equal(t, c.blocks, w.sent(10 * time.Second)["203.0.113.7"].Blocked == 20)
		})
	}
}

func TestModeOffSeesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{App: 7})
	w.add("black", "203.0.113.7")
	w.pass(time.Minute)
	require.EqualValues(t, 20, w.sent(10 * time.Second)["203.0.113.7"].Through, "a denial has no effect")
	require.Empty(t, w.list(attacks, `{"filter":{"clientid":[5]}}`))
}

func TestIndicatorOnAHeader(t *testing.T) {
	t.Parallel()
	const rule = `{"clientid":5,"type":"regex","validated":false,"comment":"tool","point":[["header","User-Agent"]],` +
		`"attack_type":%q,"regex":"^sqlmap","action":` + onShop + `}`
	w := newWorld(t)
	spec := twoSources()
	spec.Type = "brute"
	w.start(spec)
	w.createRule(fmt.Sprintf(rule, "scanner"))
	w.pass(3 * time.Minute)
	require.Zero(t, w.sent(10 * time.Second)["203.0.113.7"].Blocked, "marked only, while the mode is monitoring")
	w.createRule(fmt.Sprintf(rule, "vpatch"))
	w.pass(3 * time.Minute)
	require.Equal(t, map[string]waf.Totals{"203.0.113.7": {Blocked: 40}, "203.0.113.8": {Through: 10}}, w.sent(10*time.Second))
}

func TestSpeedShortensDelays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Service = waf.New(waf.Config{Speed: 60, Now: w.now, Accounts: []waf.Account{
		{Name: "acme", Token: "acme-token", ClientID: 5, Applications: []waf.Application{{ID: 4, Host: "shop.example.com"}}},
	}})
	w.start(waf.AttackSpec{})
	w.add("black", "203.0.113.7")
	require.Equal(t, waf.Totals{Through: 2, Blocked: 2}, w.sent(2 * time.Second)["203.0.113.7"])
}

func TestAttackGrowsAndStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{Lasts: waf.Duration(time.Minute)})
	require.EqualValues(t, 1, attack.Hits)
	require.NoError(t, w.GrowAttack(attack.ID, 10))
	require.EqualValues(t, 200, w.sent(10 * time.Second)["203.0.113.7"].Through)
	require.NoError(t, w.AddHits(attack.ID, 1000))
	require.EqualValues(t, 1201, w.state().Attacks[0].Hits)
	w.pass(2 * time.Minute)
	require.EqualValues(t, 1201+1000, w.state().Attacks[0].Hits, "it ended by itself")
	require.False(t, w.state().Attacks[0].Running)

	endless := w.start(waf.AttackSpec{})
	w.pass(time.Second)
	require.NoError(t, w.StopAttack(endless.ID))
	w.pass(time.Minute)
	require.EqualValues(t, 3, w.state().Attacks[1].Hits)

	require.Error(t, w.GrowAttack(attack.ID, 0))
	require.Error(t, w.AddHits(attack.ID, 0))
	require.Error(t, w.StopAttack("attacks_x:unknown"))
}

func TestTrafficPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(twoSources())
	w.add("black", "203.0.113.7")
	w.pass(65 * time.Second)
	points := w.state().Traffic
	require.Len(t, points, 180)
	require.Equal(t, w.now().Unix(), points[179].Time)
	last := points[178]
	require.Equal(t, waf.Totals{Through: 1, Blocked: 4}, last.Totals)
	require.Equal(t, map[string]waf.Totals{"203.0.113.7": {Blocked: 4}, "203.0.113.8": {Through: 1}}, last.Sources)
	w.pass(time.Hour)
	require.Len(t, w.state().Traffic, 180)
}

func TestSameSeedSameWorld(t *testing.T) {
	t.Parallel()
	play := func() waf.State {
		w := newWorld(t)
		w.start(waf.AttackSpec{OtherSources: 5, Started: waf.Duration(time.Hour)})
		w.pass(time.Minute)
		return w.state()
	}
	require.Equal(t, play(), play())
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(){
		"lists":   func() { w.add("black", "203.0.113.7") },
		"rules":   func() { w.createRule(patch(`[["uri"]]`, "sqli", `[]`)) },
		"attacks": func() { w.start(waf.AttackSpec{}) },
		"hits":    func() { w.start(waf.AttackSpec{}); w.pass(time.Second) },
		"faults":  func() { require.NoError(t, w.SetFault(waf.Fault{Kind: "html"})); w.ClearFaults() },
	} {
		changed := w.Watch()
		select {
		case <-changed:
			require.Fail(t, "closed before the change", name)
		default:
		}
		change()
		<-changed
	}
}
