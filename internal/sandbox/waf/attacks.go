package waf

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

const longestAttackPage = 1000

// span is a part of time in a filter: [from, to], Unix seconds, null where it is open.
type span [2]*int64

func (s span) contains(t time.Time) bool {
	return (s[0] == nil || t.Unix() >= *s[0]) && (s[1] == nil || t.Unix() <= *s[1])
}

// parseSpans reads the time of a filter; none means any time.
func parseSpans(filter *params) func(time.Time) bool {
	var spans []span
	for _, raw := range optional[[]json.RawMessage](filter, "time") {
		var pair []*int64
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 {
			filter.refuse("time", "is invalid")
			break
		}
		spans = append(spans, span{pair[0], pair[1]})
	}
	return func(t time.Time) bool {
		for _, s := range spans {
			if s.contains(t) {
				return true
			}
		}
		return len(spans) == 0
	}
}

// onlyNull reports whether a filter has the field, whose only value is null.
func onlyNull(filter *params, field string) bool {
	if filter.given(field) {
		filter.refuse(field, "is invalid")
	}
	_, there := filter.values[field]
	return there
}

// listAttacks is POST /v1/objects/attack. Without order_by the oldest record comes first; the time filter means last_time.
func (s *Service) listAttacks(c call) reply {
	c.body.known("filter", "offset", "limit", "order_by", "order_desc")
	filter := c.body.object("filter")
	filter.known("clientid", "time", "vulnid", "!vulnid", "!type")
	owned := c.account.owns(filter)
	inTime := parseSpans(filter)
	incidents, rest := onlyNull(filter, "!vulnid"), onlyNull(filter, "vulnid")
	leftOut := optional[[]string](filter, "!type")
	descending := optional[bool](c.body, "order_desc")
	order := orderBy(c.body, map[string]func(*record) int64{
		"":           func(*record) int64 { return 0 },
		"first_time": func(r *record) int64 { return r.first.Unix() },
		"last_time":  func(r *record) int64 { return r.last.Unix() },
		"hits":       (*record).hits,
	})
	offset, limit := page(c.body, longestAttackPage)
	if refused, bad := c.body.refused(); bad {
		return refused
	}
	if !owned {
		return noPermission()
	}
	var found []*record
	for _, r := range c.account.records {
		if inTime(r.last) && !(incidents && r.vulnID == 0) && !(rest && r.vulnID != 0) && !slices.Contains(leftOut, r.kind) {
			found = append(found, r)
		}
	}
	sortBy(found, order, descending)
	views := []map[string]any{}
	for _, r := range cut(found, offset, limit) {
		views = append(views, r.view(c.account.ClientID))
	}
	answered := answer(views)
	if offset+limit < len(found) {
		answered.cursor = strconv.Itoa(offset + limit)
	}
	return answered
}

// withoutEnd fills a page of the attack listing with attacks that nobody made: each was hit 10 ms before the one above it.
func (s *Service) withoutEnd(query []byte, listed any) any {
	var q struct {
		Filter        map[string]json.RawMessage
		Offset, Limit int
	}
	_ = json.Unmarshal(query, &q) // it was read before
	page := listed.([]map[string]any)
	if _, incidents := q.Filter["!vulnid"]; incidents {
		return page
	}
	latest := s.now().Truncate(10 * time.Minute) // so that they stay as they are for a while
	for n := q.Offset + len(page); n < q.Offset+min(q.Limit, longestAttackPage); n++ {
		last := latest.Add(-time.Duration(n) * 10 * time.Millisecond).Unix()
		page = append(page, map[string]any{
			"id": []string{"endless", strconv.Itoa(n)}, "attackid": "endless:" + strconv.Itoa(n), "domain": "shop.example.com", "poolid": 4, "method": "GET", "path": "/" + strconv.Itoa(n), "type": "scanner",
			"first_time": last, "last_time": last, "hits": 1, "ip_count": 1, "ip_top": []map[string]any{{"ip": "192.0.2.1", "count": 1}}, "block_status": "monitored",
		})
	}
	return page
}
