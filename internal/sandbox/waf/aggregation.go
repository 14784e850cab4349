package waf

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const longestAggregationPage = 100

func selectable() []string {
	return []string{"attack_name", "attack_types", "hosts", "paths", "min_request_time", "status"}
}

// aggregationClient returns the client id in the path of an aggregation query.
func aggregationClient(path string) (int, bool) {
	rest, ok := strings.CutPrefix(path, "/v1/client/")
	id, ok2 := strings.CutSuffix(rest, "/attack-vectors/security-agg/query")
	client, err := strconv.Atoi(id)
	return client, ok && ok2 && err == nil
}

// aggregate is POST /v1/client/{id}/attack-vectors/security-agg/query: a row for each attack and day, newest first.
func (s *Service) aggregate(c call) reply {
	client, _ := aggregationClient(c.http.URL.Path)
	c.body.known("preset", "select", "time_range", "limit")
	oneOf(c.body, "preset", []string{"none"})
	columns := required[[]string](c.body, "select")
	for _, column := range columns {
		if !slices.Contains(selectable(), column) {
			c.body.refuse("select", "is not included in the list")
		}
	}
	since := s.parseRange(c.body)
	_, limit := page(c.body, longestAggregationPage+1)
	if limit > longestAggregationPage {
		c.body.refuse("limit", "must be less than or equal to 100")
	}
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if client != c.account.ClientID {
		return noPermission()
	}
	rows := []map[string]any{}
	for _, r := range slices.Backward(c.account.records) {
		if r.last.Before(since) {
			continue
		}
		for _, day := range slices.Backward(slices.Sorted(maps.Keys(r.days))) {
			if day >= since.UTC().Format(time.DateOnly) {
				rows = append(rows, r.row(day, columns))
			}
		}
	}
	var next any
	if limit < len(rows) {
		next = strconv.Itoa(limit)
	}
	return reply{status: http.StatusOK, bare: true, body: map[string]any{"data": cut(rows, 0, limit), "next_cursor": next}}
}

// parseRange reads a relative time range in hours, as -24h.
func (s *Service) parseRange(p *params) time.Time {
	text := required[string](p, "time_range")
	digits, ok := strings.CutSuffix(strings.TrimPrefix(text, "-"), "h")
	hours, err := strconv.Atoi(digits)
	if p.given("time_range") && (!ok || err != nil || hours <= 0 || text[0] != '-') {
		p.refuse("time_range", "is invalid")
	}
	return s.now().Add(-time.Duration(hours) * time.Hour)
}

// row is a day of a record as the aggregation shows it.
func (r *record) row(day string, columns []string) map[string]any {
	label := kindOf(r.kind).label
	row := map[string]any{
		"id": r.id[1] + "-" + day, "ts_day": day, "attack_type": r.kind, "attack_type_label": label,
		"requests_count": json.Number(strconv.FormatInt(r.days[day], 10)), "unique_ips": len(r.sources) + len(r.others),
	}
	values := func(value string) any { return map[string]any{"count": 1, "values": []string{value}} }
	for _, column := range columns {
		switch column {
		case "attack_name":
			row[column] = label
		case "attack_types":
			row[column] = values(r.kind)
		case "hosts":
			row[column] = values(r.host)
		case "paths":
			row[column] = values(r.path)
		case "min_request_time":
			row[column] = r.first.UTC().Format(time.RFC3339)
		case "status":
			row[column] = map[string]string{"monitored": "Monitoring", "blocked": "Blocked"}[r.blockStatus()]
			if row[column] == "" {
				row[column] = "Partially Blocked"
			}
		}
	}
	return row
}
