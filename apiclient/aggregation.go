package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// LongestAggregation is how many hours back the service's aggregation query reaches at most.
const LongestAggregation = 168

// How much of an aggregation is read, that no service which lists without end takes memory or time without end.
const (
	aggregationPage     = 100    // rows asked for at once, the service's most
	maxAggregated       = 10_000 // rows
	maxAggregationBytes = 16 << 20
)

// AttackDay is an attack on one day. An attack that lasts over several days has a row for each.
type AttackDay struct {
	ID     string
	Day    time.Time // its beginning, in UTC; zero: not given
	Type   string    // "": not given
	Hosts  []string  // cut short by the service; none: not given
	Status Status    // how much was stopped
}

// AttackDays are the rows of an aggregation, each once.
type AttackDays struct {
	Rows []AttackDay
	More bool // the service has more rows than were read
}

// AttackDays lists the attacks of the last hours day by day: POST /v1/client/{id}/attack-vectors/security-agg/query. It may be repeated. More hours than
// LongestAggregation are refused before sending, as Invalid. It reads 10,000 rows at most, and no longer than until the context's deadline.
func (c *Client) AttackDays(ctx context.Context, hours int) (AttackDays, error) {
	k := call{op: "query attacks by day", method: http.MethodPost}
	if hours < 1 || hours > LongestAggregation {
		return AttackDays{}, invalid(k.op, map[string]string{"time_range": fmt.Sprintf("must be 1 to %d hours", LongestAggregation)})
	}
	clientID, err := c.account(ctx)
	if err != nil {
		return AttackDays{}, err
	}
	k.path = fmt.Sprintf("/v1/client/%d/attack-vectors/security-agg/query", clientID)
	query := map[string]any{
		"preset": "none", "select": []string{"attack_types", "hosts", "status"}, "time_range": fmt.Sprintf("-%dh", hours), "limit": aggregationPage,
	}
	k.body = query
	read := aggregationReader{seen: map[aggregated]bool{}}
	for {
		ans, err := c.do(ctx, k)
		switch {
		case err != nil && len(read.rows) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return AttackDays{Rows: read.rows, More: true}, nil
		case err != nil:
			return AttackDays{}, err
		}
		items, ok := listed(ans.body)
		if !ok {
			return AttackDays{}, puzzling(k, "answer holds no rows")
		}
		read.add(items, len(ans.body))
		next := nextCursor(ans.body)
		switch sent, _ := query["cursor"].(json.RawMessage); {
		case len(items) == 0 || next == nil:
			return AttackDays{Rows: read.rows}, nil
		case bytes.Equal(sent, next):
			return AttackDays{}, puzzling(k, "the same page comes again and again")
		case read.items >= maxAggregated || read.bytes >= maxAggregationBytes:
			return AttackDays{Rows: read.rows, More: true}, nil
		}
		query["cursor"] = next
	}
}

// nextCursor is what asks for the page behind an answer, as the service wrote it; nil: there is none.
func nextCursor(body json.RawMessage) json.RawMessage {
	next := decode[struct {
		Cursor json.RawMessage `json:"next_cursor"`
	}](body).Cursor
	if text := string(next); text == "null" || text == `""` {
		return nil
	}
	return next
}

// aggregated identifies a row: attacks that begin meanwhile push the list on, so that a row can come twice.
type aggregated struct {
	id  string
	day time.Time
}

// aggregationReader collects the rows of an aggregation.
type aggregationReader struct {
	rows         []AttackDay
	seen         map[aggregated]bool
	items, bytes int // received
}

func (r *aggregationReader) add(items []json.RawMessage, size int) {
	r.items, r.bytes = r.items+len(items), r.bytes+size
	for _, item := range items {
		if !isObject(item) {
			continue
		}
		row := readAttackDay(decode[record](item))
		if row.Type == noticeType {
			continue
		}
		is := aggregated{row.ID, row.Day}
		if row.ID != "" && r.seen[is] {
			continue
		}
		r.seen[is] = true
		r.rows = append(r.rows, row)
	}
}

func readAttackDay(r record) AttackDay {
	day := AttackDay{ID: joined(r["id"]), Day: dayOf(r["ts_day"]), Type: r.text("attack_type"), Hosts: r.values("hosts"), Status: StatusUnknown}
	if types := r.values("attack_types"); day.Type == "" && len(types) > 0 {
		day.Type = types[0]
	}
	switch statuses := r.values("status"); len(statuses) {
	case 0:
	case 1:
		day.Status = statusOf(statuses[0])
	default:
		day.Status = StatusPartly // they differ: some of it was blocked, and some wasn't
	}
	return day
}

// values are those of a selected column: a scalar, or {count, values}.
func (r record) values(key string) []string {
	if column, ok := r[key].(map[string]any); ok {
		return record(column).texts("values")
	}
	if word := r.text(key); word != "" {
		return []string{word}
	}
	return r.texts(key)
}

// dayOf reads a day, written as a date, with or without a time behind it, or as a moment.
func dayOf(v any) time.Time {
	if s, ok := v.(string); ok && len(s) >= len(time.DateOnly) {
		if day, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)]); err == nil {
			return day
		}
	}
	return moment(v).Truncate(24 * time.Hour)
}
