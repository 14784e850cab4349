package apiclient

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// SummaryQuery selects the aggregation of attacks.
type SummaryQuery struct {
	Last   time.Duration // back from now, rounded up to whole hours; 0: 24 h
	Select []string      // column names; nil: attack_name, attack_types, hosts, paths, min_request_time, status
	Limit  int           // rows a page; 0 or over 100: 100
}

// SummaryRow is one attack on one day: an attack over two days gives two rows. Columns that were not selected are empty.
type SummaryRow struct {
	ID           string    `json:"id"`
	Day          string    `json:"day,omitempty"` // as 2026-11-20
	Name         string    `json:"name,omitempty"`
	Type         string    `json:"type,omitempty"`
	TypeLabel    string    `json:"type_label,omitempty"`
	Types        Column    `json:"types,omitzero"`
	Hosts        Column    `json:"hosts,omitzero"`
	Paths        Column    `json:"paths,omitzero"`
	FirstRequest time.Time `json:"first_request,omitzero"`
	Requests     Figure    `json:"requests,omitzero"`
	UniqueIPs    Figure    `json:"unique_ips,omitzero"`
	Status       string    `json:"status,omitempty"` // as the service wrote it, as "Partially Blocked"
}

// Column is a set of values of which the service lists only some.
type Column struct {
	Count  Figure   `json:"count,omitzero"` // how many there are
	Values []string `json:"values,omitempty"`
}

type summaryRequest struct {
	Preset    string   `json:"preset"`
	Select    []string `json:"select"`
	TimeRange string   `json:"time_range"`
	Limit     int      `json:"limit"`
	Cursor    string   `json:"cursor,omitempty"`
}

// AttackSummary reads ungrouped attacks from the aggregation, row by row:
// POST /v1/client/{id}/attack-vectors/security-agg/query. It may be repeated; an error ends the rows.
func (c *Client) AttackSummary(ctx context.Context, q SummaryQuery) iter.Seq2[SummaryRow, error] {
	pages := func(yield func(page, error) bool) {
		clientID, err := c.ClientID(ctx)
		if err != nil {
			yield(page{}, err)
			return
		}
		k := call{op: "summarise attacks", method: http.MethodPost}
		k.path = fmt.Sprintf("/v1/client/%d/attack-vectors/security-agg/query", clientID)
		request, seen := q.request(), map[string]bool{"": true}
		for {
			k.body = request
			ans, err := c.do(ctx, k)
			items, ok := listed(ans.value)
			if err == nil && (!ok || ans.empty()) {
				err = puzzling(k, "answer holds no rows")
			}
			if !yield(page{items: items}, err) || err != nil {
				return
			}
			answered, _ := ans.value.(map[string]any)
			request.Cursor = wordOf(answered["next_cursor"])
			if len(items) == 0 || seen[request.Cursor] { // a cursor that comes again would lead in circles
				return
			}
			seen[request.Cursor] = true
		}
	}
	return each(pages, readSummaryRow)
}

func (q SummaryQuery) request() summaryRequest {
	if q.Last <= 0 {
		q.Last = 24 * time.Hour
	}
	if q.Select == nil {
		q.Select = []string{"attack_name", "attack_types", "hosts", "paths", "min_request_time", "status"}
	}
	if q.Limit <= 0 || q.Limit > 100 {
		q.Limit = 100
	}
	hours := (q.Last + time.Hour - 1) / time.Hour
	return summaryRequest{Preset: "none", Select: q.Select, TimeRange: fmt.Sprintf("-%dh", hours), Limit: q.Limit}
}

func readSummaryRow(r record) SummaryRow {
	return SummaryRow{
		ID:           joined(r["id"]),
		Day:          r.text("ts_day"),
		Name:         r.column("attack_name").first(),
		Type:         r.column("attack_type").first(),
		TypeLabel:    r.column("attack_type_label").first(),
		Types:        r.column("attack_types"),
		Hosts:        r.column("hosts"),
		Paths:        r.column("paths"),
		FirstRequest: r.time("min_request_time"),
		Requests:     r.figure("requests_count"),
		UniqueIPs:    r.figure("unique_ips"),
		Status:       r.column("status").first(),
	}
}

// column reads {"count", "values"}, a list or a single value.
func (r record) column(key string) Column {
	switch v := r[key].(type) {
	case map[string]any:
		return Column{Count: record(v).figure("count"), Values: record(v).texts("values")}
	case []any:
		return Column{Count: Known(int64(len(v))), Values: r.texts(key)}
	}
	if value := r.text(key); value != "" {
		return Column{Count: Known(1), Values: []string{value}}
	}
	return Column{}
}

func (c Column) first() string {
	if len(c.Values) == 0 {
		return ""
	}
	return c.Values[0]
}
