package waf

import (
	"encoding/json"
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
	filter.known("clientid", "time", "vulnid", "!vulnid")
	owned := c.account.owns(filter)
	inTime := parseSpans(filter)
	incidents, rest := onlyNull(filter, "!vulnid"), onlyNull(filter, "vulnid")
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
		if inTime(r.last) && !(incidents && r.vulnID == 0) && !(rest && r.vulnID != 0) {
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
