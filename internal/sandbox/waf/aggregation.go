package waf

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	longestAggregationPage  = 100
	longestAggregationHours = 168
)

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

// aggregate is POST /v1/client/{id}/attack-vectors/security-agg/query: a row for each attack and day, newest first. The next page is asked for by
// next_cursor as cursor, with all else repeated.
func (s *Service) aggregate(c call) reply {
	client, _ := aggregationClient(c.http.URL.Path)
	c.body.known("preset", "select", "time_range", "limit", "cursor")
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
	from := pageOf(c.body)
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
	if from+limit < len(rows) {
		next = cursorTo(c.body, from+limit)
	}
	return reply{status: http.StatusOK, bare: true, body: map[string]any{"data": cut(rows, from, limit), "next_cursor": next}}
}

// cursorTo names the page of a query that begins after so many rows. It holds for this query alone.
func cursorTo(query *params, from int) string {
	sum := fnv.New32a()
	for _, field := range slices.Sorted(maps.Keys(query.values)) {
		if field != "cursor" {
			fmt.Fprintf(sum, "%q:%s,", field, query.values[field])
		}
	}
	return fmt.Sprintf("%08x.%d", sum.Sum32(), from)
}

// pageOf is after how many rows the page begins that the query's cursor names.
func pageOf(query *params) int {
	cursor := optional[string](query, "cursor")
	if !query.given("cursor") {
		return 0
	}
	_, digits, _ := strings.Cut(cursor, ".")
	from, err := strconv.Atoi(digits)
	if err != nil || from < 0 || cursor != cursorTo(query, from) {
		query.refuse("cursor", "is invalid")
	}
	return max(from, 0)
}

// parseRange reads a relative time range in hours, as -24h, which is what none means.
func (s *Service) parseRange(p *params) time.Time {
	text := "-24h"
	if p.given("time_range") {
		text = optional[string](p, "time_range")
	}
	digits, ok := strings.CutSuffix(text, "h")
	hours, err := strconv.Atoi(digits)
	switch {
	case !ok || err != nil || hours >= 0:
		p.refuse("time_range", "is invalid")
	case -hours > longestAggregationHours:
		p.refuse("time_range", "must be within the last 168 hours")
	}
	return s.now().Add(time.Duration(hours) * time.Hour)
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
