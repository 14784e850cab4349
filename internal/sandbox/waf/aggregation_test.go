package waf_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

const aggregation = "/v1/client/5/attack-vectors/security-agg/query"

// aggregate asks for a page of the aggregation, with the fields beside preset and select.
func (w *world) aggregate(fields string) (rows []map[string]any, next any) {
	w.t.Helper()
	code, text := w.request("POST", aggregation, `{"preset":"none","select":["hosts"]`+fields+`}`)
	require.Equal(w.t, 200, code, text)
	var answer struct {
		Data []map[string]any `json:"data"`
		Next any              `json:"next_cursor"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(text), &answer))
	return answer.Data, answer.Next
}

func TestAggregationHasARowForEachDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{Started: waf.Duration(6 * time.Hour), Hits: 600})
	code, text := w.request("POST", aggregation,
		`{"preset":"none","select":["attack_name","attack_types","hosts","paths","min_request_time","status"],"time_range":"-24h","limit":50}`)
	require.Equal(t, 200, code)
	var answer struct {
		Data   []map[string]any `json:"data"`
		Status *int             `json:"status"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	require.Nil(t, answer.Status, "no envelope")
	require.Len(t, answer.Data, 2)
	today := answer.Data[0]
	require.Equal(t, "2026-11-20", today["ts_day"])
	require.Equal(t, "2026-11-19", answer.Data[1]["ts_day"])
	require.EqualValues(t, 600, today["requests_count"].(float64)+answer.Data[1]["requests_count"].(float64))
	require.Equal(t, "SQL Injection", today["attack_type_label"])
	require.Equal(t, map[string]any{"count": 1.0, "values": []any{"shop.example.com"}}, today["hosts"])
	require.Equal(t, "Monitoring", today["status"])
}

func TestAggregationHasPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 205 {
		w.start(waf.AttackSpec{Path: fmt.Sprintf("/p%d", i), Hits: 1, Started: waf.Duration(time.Minute), Lasts: waf.Duration(time.Second)})
	}
	seen := map[any]bool{}
	page := `,"time_range":"-24h","limit":100`
	for _, want := range []int{100, 100, 5} {
		rows, next := w.aggregate(page)
		require.Len(t, rows, want)
		for _, r := range rows {
			seen[r["id"]] = true
		}
		require.Equal(t, want == 5, next == nil, "the last page has no next one")
		page = fmt.Sprintf(`,"time_range":"-24h","limit":100,"cursor":%q`, next)
	}
	require.Len(t, seen, 205)
}

// A cursor goes on with the query that gave it, and with no other.
func TestAggregationCursorIsOfItsQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		w.start(waf.AttackSpec{Hits: 1})
	}
	_, next := w.aggregate(`,"time_range":"-24h","limit":1`)
	require.NotNil(t, next)
	for _, other := range []string{
		fmt.Sprintf(`,"time_range":"-48h","limit":1,"cursor":%q`, next), fmt.Sprintf(`,"time_range":"-24h","limit":2,"cursor":%q`, next),
		fmt.Sprintf(`,"limit":1,"cursor":%q`, next), `,"time_range":"-24h","limit":1,"cursor":"2"`, `,"time_range":"-24h","limit":1,"cursor":1`,
	} {
		code, text := w.request("POST", aggregation, `{"preset":"none","select":["hosts"]`+other+`}`)
		require.Equal(t, 400, code, other)
		require.Contains(t, text, `"cursor":{"error":"is invalid"`)
	}
}

// The query reaches a week back, a day where it doesn't say.
func TestAggregationReachesAWeekBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(waf.AttackSpec{Hits: 1, Lasts: waf.Duration(time.Second)})
	w.pass(30 * time.Hour)
	rows, _ := w.aggregate("")
	require.Empty(t, rows)
	rows, _ = w.aggregate(`,"time_range":null`)
	require.Empty(t, rows)
	rows, _ = w.aggregate(`,"time_range":"-168h"`)
	require.Len(t, rows, 1)
	require.Equal(t, "2026-11-20", rows[0]["ts_day"])
	code, text := w.request("POST", aggregation, `{"preset":"none","select":[],"time_range":"-169h"}`)
	require.Equal(t, 400, code)
	require.JSONEq(t, `{"status":400,"body":{"time_range":{"error":"must be within the last 168 hours","value":"-169h"}}}`, text)
}
