package waf_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

const attacks = "/v1/objects/attack"

func TestAttackRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := waf.AttackSpec{
		Started: waf.Duration(10 * time.Minute), Hits: 1530, OtherSources: 3, Method: "POST", Path: "/login", Type: "sqli",
		Sources: []waf.SourceSpec{{IP: "203.0.113.7", Country: "FR", PerSecond: 3}, {IP: "203.0.113.8", Country: "FR", PerSecond: 1}},
	}
	attack := w.start(spec)
	records := w.list(attacks, `{"filter":{"clientid":[5]}}`)
	require.Len(t, records, 1)
	r := records[0]
	id := r["id"].([]any)
	require.Equal(t, attack.ID, r["attackid"])
	require.Equal(t, r["attackid"], fmt.Sprintf("%v:%v", id[0], id[1]))
	require.EqualValues(t, 1530, r["hits"])
	require.EqualValues(t, 5, r["ip_count"])
	require.Len(t, r["ip_top"], 2, "the other sources never show")
	require.Equal(t, "203.0.113.7", r["ip_top"].([]any)[0].(map[string]any)["ip"])
	require.Equal(t, "FR", r["country_top"].([]any)[0].(map[string]any)["country"])
	require.EqualValues(t, 600, r["last_time"].(float64)-r["first_time"].(float64))
	require.EqualValues(t, w.now().Unix(), r["last_time"])
	require.Equal(t, "monitored", r["block_status"])
	require.Equal(t, "shop.example.com", r["domain"])
	require.EqualValues(t, 4, r["poolid"])
	require.Nil(t, r["vulnid"])
	require.Contains(t, r, "vulnid")
}

func TestSomeFiguresAreFloats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 20 {
		w.start(waf.AttackSpec{Hits: 7})
	}
	_, text := w.request("POST", attacks, `{"filter":{"clientid":[5]}}`)
	require.Contains(t, text, `"hits":7.0`)
	require.Contains(t, text, `"hits":7,`)
}

func TestAttackOrderAndPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.start(waf.AttackSpec{Hits: int64(10 + i), Lasts: waf.Duration(time.Second)})
		w.pass(time.Minute)
	}
	ids := func(more string) (hits []string) {
		for _, r := range w.list(attacks, `{"filter":{"clientid":[5]}`+more+`}`) {
			hits = append(hits, fmt.Sprint(r["hits"]))
		}
		return hits
	}
	require.Equal(t, []string{"12", "13", "14", "15", "16"}, ids(``), "left out is not newest first")
	require.Equal(t, []string{"16", "15", "14", "13", "12"}, ids(`,"order_by":"last_time","order_desc":true`))
	require.Equal(t, []string{"14", "13"}, ids(`,"order_by":"last_time","order_desc":true,"offset":2,"limit":2`))
	require.Empty(t, ids(`,"offset":5`))
}

func TestAttackFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.start(waf.AttackSpec{Lasts: waf.Duration(time.Second)})
	w.pass(30 * time.Minute)
	incident := w.start(waf.AttackSpec{Vulnerability: &waf.VulnSpec{Title: "SQLi in login"}})
	ids := func(filter string) (ids []any) {
		for _, r := range w.list(attacks, `{"filter":{"clientid":[5]`+filter+`}}`) {
			ids = append(ids, r["attackid"])
		}
		return ids
	}
	require.Equal(t, []any{incident.ID}, ids(`,"!vulnid":null`))
	require.Equal(t, []any{old.ID}, ids(`,"vulnid":null`))
	minuteAgo := w.now().Add(-time.Minute).Unix()
	require.Equal(t, []any{incident.ID}, ids(fmt.Sprintf(`,"time":[[%d,null]]`, minuteAgo)))
	require.Equal(t, []any{old.ID}, ids(fmt.Sprintf(`,"time":[[0,%d]]`, minuteAgo)))
}

func TestTimeFilterMeansTheLastHit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{Started: waf.Duration(time.Hour)})
	require.Len(t, w.list(attacks, fmt.Sprintf(`{"filter":{"clientid":[5],"time":[[%d,null]]}}`, w.now().Add(-time.Minute).Unix())), 1)
	require.Empty(t, w.list(attacks, fmt.Sprintf(`{"filter":{"clientid":[5],"time":[[null,%d]]}}`, w.now().Add(-time.Minute).Unix())))
}

func TestHitsSoFarArePlayedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.advance(10 * time.Second)
	attack := w.start(waf.AttackSpec{Started: waf.Duration(10 * time.Minute)})
	require.EqualValues(t, 1200, attack.Hits)
	w.Step()
	require.EqualValues(t, 1200, w.state().Attacks[0].Hits)
	w.pass(time.Second)
	require.EqualValues(t, 1202, w.state().Attacks[0].Hits)
}

func TestLastTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{})
	w.advance(10 * time.Second)
	require.NoError(t, w.AddHits(attack.ID, 5))
	require.Equal(t, w.now(), w.state().Attacks[0].LastTime)
	w.Step()
	require.Equal(t, w.now(), w.state().Attacks[0].LastTime)
	require.EqualValues(t, 1+5+20, w.state().Attacks[0].Hits)
}

func TestAttackBecomesIncident(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{})
	require.NoError(t, w.MakeIncident(attack.ID, waf.VulnSpec{ID: 4711, Title: "SQLi in login", Threat: 90}))
	require.Error(t, w.MakeIncident(attack.ID, waf.VulnSpec{}), "twice")
	r := w.list(attacks, `{"filter":{"clientid":[5],"!vulnid":null}}`)[0]
	require.EqualValues(t, 4711, r["vulnid"])
	require.Equal(t, attack.ID, r["attackid"])

	second := w.start(waf.AttackSpec{Vulnerability: &waf.VulnSpec{ID: 4711}})
	require.Equal(t, 4711, second.VulnID)
	active := w.list("/v1/objects/vuln", `{"filter":{"clientid":[5],"testrun_id":null,"validated":true}}`)
	require.Equal(t, "SQLi in login", active[len(active)-1]["title"])
	require.EqualValues(t, 2, active[len(active)-1]["incidents"], "both exploit the same issue")
	for _, v := range active {
		require.Equal(t, "open", v["status"])
	}
}

func TestIncidentsOnlyInMonitoring(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{})
	w.createRule(`{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":` + onShop + `}`)
	w.pass(3 * time.Minute)
	require.ErrorContains(t, w.MakeIncident(attack.ID, waf.VulnSpec{}), "mode is block")
	_, err := w.StartAttack(waf.AttackSpec{Vulnerability: &waf.VulnSpec{}})
	require.ErrorContains(t, err, "mode is block")
}

func TestSilenceOpensANewRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attack := w.start(waf.AttackSpec{Lasts: waf.Duration(time.Minute)})
	w.pass(59 * time.Minute)
	require.NoError(t, w.AddHits(attack.ID, 10))
	require.Len(t, w.state().Attacks, 1)
	require.Equal(t, attack.ID, w.state().Attacks[0].ID)
	w.pass(61 * time.Minute)
	require.NoError(t, w.AddHits(attack.ID, 3))
	resumed := w.state().Attacks[0]
	require.NotEqual(t, attack.ID, resumed.ID)
	require.EqualValues(t, 3, resumed.Hits)
	require.Len(t, w.list(attacks, `{"filter":{"clientid":[5]}}`), 2)
	require.NoError(t, w.SetState(attack.ID, "falsepositive"), "an old id still finds the attack")
	require.Equal(t, "falsepositive", w.state().Attacks[0].Review)
}

func TestSpecsThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, spec := range map[string]waf.AttackSpec{
		"no account":       {Account: "nobody"},
		"no application 9": {App: 9},
		"host is missing":  {App: -1},
		"begin with /":     {Path: "login"},
		"comes twice":      {Sources: []waf.SourceSpec{{IP: "1.2.3.4"}, {IP: "::ffff:1.2.3.4"}}},
		"ISO 3166":         {Sources: []waf.SourceSpec{{IP: "1.2.3.4", Country: "France"}}},
		"source 1: ip":     {Sources: []waf.SourceSpec{{IP: "1.2.3"}}},
		"below 0":          {Hits: -1},
		"result of denyin": {Type: "blocked_source"},
	} {
		_, err := w.StartAttack(spec)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, w.state().Attacks)
}

func TestSpecInJSON(t *testing.T) {
	t.Parallel()
	var spec waf.AttackSpec
	require.NoError(t, json.Unmarshal([]byte(`{"started":"10m","other_sources":2,"sources":[{"ip":"1.2.3.4","per_second":0.5}]}`), &spec))
	require.Equal(t, 10*time.Minute, time.Duration(spec.Started))
	text, err := json.Marshal(spec)
	require.NoError(t, err)
	require.JSONEq(t, `{"started":"10m0s","other_sources":2,"sources":[{"ip":"1.2.3.4","per_second":0.5}]}`, string(text))
	require.Error(t, json.Unmarshal([]byte(`{"started":"soon"}`), &spec))
}
