package apiclient

import (
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
	ID     string    `api:"id"`
	Day    time.Time // its beginning, in UTC; zero: not given
	Type   string    `api:"attack_type"` // "": not given
	Hosts  []string  `api:"hosts"`       // cut short by the service; none: not given
	Status Status    // how much was stopped
}

// AttackDays are the rows of an aggregation, each once.
type AttackDays struct {
	Rows []AttackDay
	More bool // the service has more rows than were read
}

// AttackDays lists the attacks of the last hours day by day: POST /v1/client/{id}/attack-vectors/security-agg/query. It
// may be repeated. More hours than LongestAggregation are refused before sending, as Invalid. It reads 10,000 rows at
// most, and no longer than until the context's deadline.
func (c *Client) AttackDays(ctx context.Context, hours int) (days AttackDays, err error) {
	k := call{op: "query attacks by day", method: http.MethodPost}
	if hours < 1 || hours > LongestAggregation {
		return AttackDays{}, invalid(k.op, map[string]string{"time_range": fmt.Sprintf("must be 1 to %d hours",
			LongestAggregation)})
	}
	clientID, err := c.account(ctx)
	if err != nil {
		return AttackDays{}, err
	}
	k.path = fmt.Sprintf("/v1/client/%d/attack-vectors/security-agg/query", clientID)
	query := map[string]any{
		"preset": "none", "select": []string{"attack_types", "hosts", "status"}, "time_range": fmt.Sprintf("-%dh", hours),
		"limit": aggregationPage,
	}
	k.body = query
	seen := map[string]bool{} // attacks that begin meanwhile push the list on, so that a row can come twice
	for rows, size := 0, 0; ; {
		ans, err := c.do(ctx, k)
		switch {
		case err != nil && len(days.Rows) > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded):
			days.More = true
			return days, nil
		case err != nil:
			return AttackDays{}, err
		}
		items, ok := listed(ans.body)
		if !ok {
			return AttackDays{}, puzzling(k, "answer holds no rows")
		}
		for _, item := range items {
			day := readAttackDay(item)
			is := day.ID + " " + day.Day.String()
			if isObject(item) && day.Type != noticeType && !(seen[is] && day.ID != "") {
				seen[is], days.Rows = true, append(days.Rows, day)
			}
		}
		rows, size = rows+len(items), size+len(ans.body)
		next := members(ans.body)["next_cursor"]
		cursor := string(next)
		switch {
		case len(items) == 0 || cursor == "" || cursor == "null" || cursor == `""`:
			return days, nil
		case query["cursor"] != nil && cursor == string(query["cursor"].(json.RawMessage)):
			return AttackDays{}, puzzling(k, "the same page comes again and again")
		case rows >= maxAggregated || size >= maxAggregationBytes:
			days.More = true
			return days, nil
		}
		query["cursor"] = next
	}
}

func readAttackDay(item json.RawMessage) AttackDay {
	var also struct {
		AttackDay
		Date     string   `api:"ts_day"`
		Types    []string `api:"attack_types"`
		Statuses []string `api:"status"`
	}
	decode(item, 0, &also)
	day := also.AttackDay
	if day.Type == "" && len(also.Types) > 0 {
		day.Type = also.Types[0]
	}
	date, err := time.Parse(time.DateOnly, also.Date[:min(len(time.DateOnly), len(also.Date))])
	if day.Day = date; err != nil {
		day.Day = text(also.Date).moment().Truncate(24 * time.Hour)
	}
	switch len(also.Statuses) {
	case 0:
		day.Status = StatusUnknown
	case 1:
		day.Status = statusOf(also.Statuses[0])
	default:
		day.Status = StatusPartly // they differ: some of it was blocked, and some wasn't
	}
	return day
}
